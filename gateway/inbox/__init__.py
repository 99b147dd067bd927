"""The reading side: requests with their assessment, work and delivery, as JSON, as a page and on a terminal.

It reads the tables of both rooms and never writes them. Each question is one text of portable SQL (``questions``),
asked through a plain function (``reading.Ask``): the gateway asks it in its transactions, the command line through the
standard library, without importing the heavy database toolkit.
"""
