"""The site's machinery: how notebooks become web pages. No chapter imports it."""
