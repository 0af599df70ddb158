"""The panel's views: pages, their live regions, and the forms that give commands."""
