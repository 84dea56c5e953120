"""Expectations of our own, one a file; importing this package makes them known by name."""

from elsinore.quality.custom.event_days import ExpectEventsToLieInTheirDay
from elsinore.quality.custom.exact_values import ExpectValuesToBeTheNearestOfExact
from elsinore.quality.custom.finite_values import ExpectColumnValuesToBeFinite
from elsinore.quality.custom.landed_rows import ExpectLandedRowsToAddUp
from elsinore.quality.custom.owned_windows import ExpectWindowsToEndInTheirHour
from elsinore.quality.custom.plan_bodies import ExpectPlansToBeWhatWasWritten
from elsinore.quality.custom.quarantined_share import ExpectQuarantinedShareToBeAtMost
from elsinore.quality.custom.reference_diff import ExpectPublishedToEqualReference
from elsinore.quality.custom.validation_coverage import ExpectResultsToBeValidated
