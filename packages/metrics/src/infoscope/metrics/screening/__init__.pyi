from infoscope.metrics.screening.result import Screen as Screen
from infoscope.metrics.screening.selection import information_scores as information_scores
from infoscope.metrics.screening.table import screen as screen
