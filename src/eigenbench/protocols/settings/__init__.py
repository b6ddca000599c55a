"""The settings of each protocol, apart from its numerics, so that suites are checked in an instant."""
