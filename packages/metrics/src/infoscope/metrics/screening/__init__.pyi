from infoscope.metrics.screening.result import Screen as Screen
from infoscope.metrics.screening.selection import (
    information_scores as information_scores,
)
from infoscope.metrics.screening.series import SeriesScreen as SeriesScreen
from infoscope.metrics.screening.series import screen_series as screen_series
from infoscope.metrics.screening.table import screen as screen
