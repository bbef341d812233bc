"""For the tests of users and of plug-in authors; needs pytest."""
