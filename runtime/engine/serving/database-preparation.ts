// Prepares a deployment's databases before its worker is loaded. Used by handler.ts.
import { PlatformError } from '#core/errors.ts';
import type { DatabaseMigrations } from '#core/manifest.ts';
import { ofPreview } from '#core/preview.ts';
import { copiesDatabases } from '#core/preview-settings.ts';
import type { OpenArtifact } from '#artifacts/artifact-source.ts';
import type { DatabasePlace } from '../bindings/scope.ts';
import type { Route } from '../router/project-routes.ts';
import type { DeploymentConfig } from './config.ts';

/** Prepares a deployment's databases before it is served. */
export interface ProjectDatabases {
  /** Applies pending migrations. */
  migrate(place: DatabasePlace, files: DatabaseMigrations['files']): Promise<unknown>;
  /** Creates a database with the content of another one. */
  branch(place: DatabasePlace, resource: string, options: { readonly unlessThere: true }): Promise<unknown>;
}

/**
 * The preparation if the migrator prepares databases. A deployment is served after the migrator has finished, so
 * nothing is changed here.
 *
 * @param databases the databases of the database service.
 */
export function preparedByMigrator(databases: {
  migrations(
    place: DatabasePlace,
    files: DatabaseMigrations['files'],
  ): Promise<{ readonly there: boolean; readonly pending: readonly string[] }>;
}): ProjectDatabases {
  return {
    async migrate(place, files) {
      const { pending } = await databases.migrations(place, files);
      if (pending.length > 0) throw new Error(`the migrator has not applied ${pending[0]} yet`);
    },
    async branch({ namespace }, resource) {
      const { there } = await databases.migrations({ namespace, resource }, []);
      if (!there) throw new Error('the migrator has not made it yet');
    },
  };
}

/**
 * Migrates the databases of a production deployment, or of a preview, whose databases are created as copies of
 * production's at its first request. Null if no preparation is needed.
 *
 * @param namespace the namespace that owns the databases. @param isProduction tells when the preparation runs whether
 * the deployment is its project's production.
 */
export function prepareDatabases(
  databases: ProjectDatabases,
  namespace: string,
  route: Route,
  { manifest, migrations }: OpenArtifact,
  isProduction: () => boolean,
): NonNullable<DeploymentConfig['prepare']> | null {
  const { preview, deployment, branch } = route;
  const isCopied = preview !== null && copiesDatabases(manifest, branch);
  const copies = !isCopied ? [] : [...new Set(Object.values(manifest.bindings['db'] ?? {}))];
  const isMigrated = manifest.migrations !== undefined;
  if (copies.length === 0 && !isMigrated) return null;
  const unavailable =
    (what: string) =>
    ({ message }: Error): never => {
      throw new PlatformError('deployment_unavailable', { deployment, reason: `${what} failed: ${message}` });
    };
  const run = async (): Promise<void> => {
    for (const resource of copies)
      await databases
        .branch({ namespace, resource }, ofPreview(resource, preview), { unlessThere: true })
        .catch(unavailable(`the copy of database ${resource}`));
    if (!isMigrated) return;
    for (const { resource, files } of migrations())
      await databases
        .migrate({ namespace, resource: ofPreview(resource, preview) }, files)
        .catch(unavailable('its migrations'));
  };
  let done: Promise<void> | null = null;
  return () => {
    // This is checked again when the deployment is production.
    if (preview === null && !isProduction()) return Promise.resolve();
    return (done ??= run().catch((error: Error) => {
      // The next request tries again, because the database may be temporarily unavailable.
      done = null;
      throw error;
    }));
  };
}
