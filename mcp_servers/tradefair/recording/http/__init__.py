"""What a recorder between HTTP clients and servers reads along."""
