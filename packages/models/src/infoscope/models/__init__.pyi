from infoscope.models.domain import DANN as DANN
from infoscope.models.domain import DIVA as DIVA
from infoscope.models.domain import ERM as ERM
from infoscope.models.domain import IRM as IRM
from infoscope.models.domain import NVAE as NVAE
from infoscope.models.domain import AugmentedDANN as AugmentedDANN
from infoscope.models.domain import BlockSpec as BlockSpec
from infoscope.models.domain import DomainData as DomainData
from infoscope.models.domain import accuracies as accuracies
from infoscope.models.domain import extract_blocks as extract_blocks
from infoscope.models.domain import fit_domain as fit_domain
from infoscope.models.invertible import IREVNET_BLOCKS as IREVNET_BLOCKS
from infoscope.models.invertible import IRevNet as IRevNet
from infoscope.models.invertible import (
    MaskedAutoregressiveFlow as MaskedAutoregressiveFlow,
)
from infoscope.models.invertible import RealNVP as RealNVP
from infoscope.models.resnet import LayerEncoder as LayerEncoder
from infoscope.models.resnet import ResNet as ResNet
from infoscope.models.resnet import fit_resnet as fit_resnet
from infoscope.models.text.classifier import ClassifierTraining as ClassifierTraining
from infoscope.models.text.classifier import SequenceClassifier as SequenceClassifier
from infoscope.models.text.classifier import fine_tune as fine_tune
from infoscope.models.text.encoder import TextEncoder as TextEncoder
from infoscope.models.text.encoder import pretrained_encoder as pretrained_encoder
from infoscope.models.text.encoder import small_encoder as small_encoder
from infoscope.models.text.sentence_encoder import SentenceEncoder as SentenceEncoder
from infoscope.models.text.sentence_encoder import (
    fit_sentence_encoder as fit_sentence_encoder,
)
from infoscope.models.vae.networks import VAE as VAE
from infoscope.models.vae.networks import AutoEncoder as AutoEncoder
from infoscope.models.vae.networks import Encoding as Encoding
from infoscope.models.vae.networks import LatentSpec as LatentSpec
from infoscope.models.vae.networks import encode_all as encode_all
from infoscope.models.vae.networks import traverse as traverse
from infoscope.models.vae.objectives import OBJECTIVES as OBJECTIVES
from infoscope.models.vae.training import VaeTraining as VaeTraining
from infoscope.models.vae.training import fit_vae as fit_vae
