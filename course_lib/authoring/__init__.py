"""From lesson source to notebooks, one way. The guide for authors is docs/writing_a_lesson.md."""
