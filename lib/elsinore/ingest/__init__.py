"""From the landing zone to events: raw records, quarantine, and the keyed view of raw records."""
