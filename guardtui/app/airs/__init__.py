"""Topics and profiles of Prisma AIRS."""
