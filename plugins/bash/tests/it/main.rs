//! Tests at the plugin's public seam.
