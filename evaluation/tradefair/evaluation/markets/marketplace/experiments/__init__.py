"""What a marketplace experiment shows: bias by order, manipulation, and what more results on a page do."""
