// Durable objects of classes that a deployment no longer has, on a platform without a control plane: the deployment is
// refused before it is published, and objects of classes named as deleted are deleted once it is production. Called by
// `platform deploy` and `platform promote`.
import type { ResourceAnswer, ResourceOperation, ResourceOperations } from '#core/resource-call.ts';
import {
  classesAdvice,
  deletedClasses,
  forgottenClasses,
  keptClasses,
  nameNowOf,
  transferredClasses,
} from '#core/bindings/object-classes.ts';
import { hiddenObjects, newlyReceived, transferObjection } from '#core/bindings/object-transfers.ts';
import type { Manifest, RouteRecord } from '#core/manifest.ts';
import { readRoute } from '#artifacts/route-records.ts';
import { openArtifact } from '#artifacts/artifact-source.ts';
import { askPlatform, type LocalPlatform } from '../local/local-platform.ts';
import { CliError } from '../terminal/failure.ts';

const WAIT_MS = 90_000;

interface InProduction {
  readonly project: string;
  readonly deployment: string;
}

/** Manifest of the deployment that is production, or null. */
function productionOf(platform: LocalPlatform, route: RouteRecord | null): Manifest | null {
  const live = route?.production == null ? undefined : route.deployments[route.production];
  return live === undefined ? null : openArtifact(platform.folder, live.artifact).manifest;
}

/**
 * Refuses to make a deployment production if it lacks a class of which production has objects.
 *
 * @throws {CliError} that names the class, also if the platform is unavailable.
 */
export async function refuseForgottenClasses(
  platform: LocalPlatform,
  route: RouteRecord | null,
  next: Manifest,
  project: string,
): Promise<void> {
  const production = productionOf(platform, route);
  const objection = transferObjection(project, production, next, (other) =>
    productionOf(platform, readRoute(platform.folder, other)),
  );
  if (objection !== null) throw new CliError(objection);
  if (production === null) return;
  const of = { project, deployment: route!.production! };
  const known = [...keptClasses(production), ...transferredClasses(production)];
  for (const first of forgottenClasses(known, next)) {
    const now = nameNowOf(production.objectClasses ?? {}, first);
    const advice = classesAdvice(first);
    if (platform.running?.privateOrigin == null)
      throw new CliError(
        `Production may have durable objects of the class ${now}, but this deployment has no such class`,
        {
          advice: `Start the platform, so that its objects can be checked. ${advice}`,
        },
      );
    const object = await heldObject(platform, of, first);
    if (object !== null)
      throw new CliError(
        `Production has durable objects of the class ${now}, such as ${JSON.stringify(object.slice(0, 80))}, ` +
          'but this deployment has no such class',
        { advice },
      );
  }
  for (const first of newlyReceived(production, next))
    if (platform.running?.privateOrigin == null || (await heldObject(platform, of, first)) !== null)
      throw new CliError(hiddenObjects(first), {
        advice: 'If it has none, start the platform, which checks this.',
      });
}

/** Name or id of an object of a class in production, or null. */
async function heldObject(platform: LocalPlatform, of: InProduction, first: string): Promise<string | null> {
  for (let cursor: string | null = null; ;) {
    const found: Gives<'object.held'> = await ask(platform, of, 'object.held', first, cursor);
    if (found.object !== null) return found.object;
    if (found.cursor === null) return null;
    ({ cursor } = found);
  }
}

/** Deletes the objects of classes that production names as deleted. @returns lines for the terminal. */
export async function deleteClasses(platform: LocalPlatform, route: RouteRecord): Promise<string[]> {
  const production = productionOf(platform, route);
  if (production === null) return [];
  const lines: string[] = [];
  for (const first of deletedClasses(production)) {
    if (platform.running?.privateOrigin == null) {
      lines.push(`Objects of the class ${first} stay until you deploy again while the platform runs.`);
      continue;
    }
    const of = { project: route.project, deployment: route.production! };
    let removed = 0;
    for (let cursor: string | null = null; ;) {
      const page: Gives<'object.clear'> = await ask(platform, of, 'object.clear', first, cursor);
      removed += page.removed;
      if (page.cursor === null) break;
      ({ cursor } = page);
    }
    if (removed > 0)
      lines.push(`Deleted ${removed} durable ${removed === 1 ? 'object' : 'objects'} of the class ${first}`);
  }
  return lines;
}

type Gives<Operation extends ResourceOperation> = ResourceOperations[Operation]['gives'];

async function ask<Operation extends 'object.held' | 'object.clear'>(
  platform: LocalPlatform,
  of: InProduction,
  operation: Operation,
  first: string,
  cursor: string | null,
): Promise<Gives<Operation>> {
  const { status, body } = await askPlatform<ResourceAnswer<Operation> & { error?: string }>(
    platform,
    '/_platform/data',
    {
      body: { ...of, operation, args: { class: first, ...(cursor !== null && { cursor }) } },
      waitMs: WAIT_MS,
    },
  );
  if (status === 200) return body.result;
  throw new CliError(
    `The platform could not check for objects of the class ${first}: ${body.error ?? `HTTP ${status}`}`,
    {
      advice: 'Try again.',
    },
  );
}
