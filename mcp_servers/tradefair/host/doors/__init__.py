"""Many episodes behind HTTP: tokens, sessions, issuers, pages, orders."""
