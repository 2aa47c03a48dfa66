"""Prisma AIRS: scans, and the topics and profiles behind them."""
