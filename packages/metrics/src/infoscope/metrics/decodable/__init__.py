"""Information that a cross-fitted classifier reads off items of benchmark pairs: a lower bound of the nominal one."""

from infoscope.metrics.decodable.information import Decoding, decodable_information, decodable_information_of_items

__all__ = [
    "Decoding",
    "decodable_information",
    "decodable_information_of_items",
]
