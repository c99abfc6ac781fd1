-- The platform's own ledger gives its name to the record of projects' migrations (control.database_migration_audit).
-- A table of the new name is what an older version left that took a backup back.
DROP TABLE IF EXISTS public.platform_migrations;
ALTER TABLE public.database_migration_audit RENAME TO platform_migrations;
ALTER INDEX public.database_migration_audit_pkey RENAME TO platform_migrations_pkey;
