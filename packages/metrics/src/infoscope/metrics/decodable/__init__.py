"""What a cross-fitted classifier reads off the items of benchmark pairs: a lower bound of their nominal information."""

from infoscope.metrics.decodable.information import Decoding, decodable_information, decodable_information_of_items

__all__ = [
    "Decoding",
    "decodable_information",
    "decodable_information_of_items",
]
