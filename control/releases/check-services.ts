// Before a release, checks that its organization has the projects whose workers and objects it calls. Called by
// release.ts.
import { objectOwners } from '#core/bindings/object.ts';
import { parseServiceTarget } from '#core/bindings/service.ts';
import { Failure } from '#core/failure.ts';
import type { Manifest } from '#core/manifest.ts';
import type { Dependencies } from '../process/dependencies.ts';

/**
 * A project without a deployment is accepted: two projects may call each other.
 *
 * @throws {Failure} `release_ended` that names the bindings.
 */
export async function checkServices(
  { sql }: Pick<Dependencies, 'sql'>,
  organizationId: string,
  { bindings, objects }: Pick<Manifest, 'bindings' | 'objects'>,
): Promise<void> {
  const services = [
    ...Object.entries(bindings['service'] ?? {}).map(
      ([binding, text]) => [binding, parseServiceTarget(text).project] as const,
    ),
    ...objectOwners(objects),
  ];
  if (services.length === 0) return;
  const names = services.map(([, project]) => project);
  const found = await sql<{ name: string }[]>`
    SELECT name FROM control.project
    WHERE organization_id = ${organizationId} AND deleted_at IS NULL AND name = ANY(${names})`;
  const known = new Set(found.map(({ name }) => name));
  const missing = services.filter(([, project]) => !known.has(project));
  if (missing.length === 0) return;
  const list = missing.map(([binding, project]) => `${binding}: ${project}`).join(', ');
  throw new Failure(
    'release_ended',
    `The organization has no project for these services and objects: ${list}. Create the project, or remove the binding from platform.yaml.`,
    { status: 'failure', reason: 'artifact_invalid' },
  );
}
