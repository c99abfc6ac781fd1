-- Moves of a project's databases that an operator has asked for: its home does them, and says why it did not.
SET LOCAL search_path = binding;

ALTER TABLE database_home ADD COLUMN move_to text, ADD COLUMN move_problem text;
CREATE INDEX database_home_moves ON database_home (service) WHERE move_to IS NOT NULL;
