"""The demo: the whole product on the simulated fleet, on a fast clock, with a chat inbox of its own."""
