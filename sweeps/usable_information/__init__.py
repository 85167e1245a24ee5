"""Predictive V-information and PVI (Xu et al. 2020; Ethayarajh et al. 2022)."""
