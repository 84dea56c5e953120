"""Expectations of our own, one a file; importing this package makes them known by name."""

from elsinore.quality.custom.landed_rows import ExpectLandedRowsToAddUp
from elsinore.quality.custom.plan_bodies import ExpectPlansToBeWhatWasWritten
from elsinore.quality.custom.quarantined_share import ExpectQuarantinedShareToBeAtMost
from elsinore.quality.custom.reference_diff import ExpectPublishedToEqualReference
from elsinore.quality.custom.rules_hold import ExpectRuleToHold
from elsinore.quality.custom.validation_coverage import ExpectResultsToBeValidated
