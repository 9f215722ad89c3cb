"""From events, arguments and a manifest to the evidence about one life of one engine."""
