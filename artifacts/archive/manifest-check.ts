// Validates `manifest.json` of an artifact from outside completely: the engine and the broker trust manifests of our
// own builder. Called by receive-artifact.ts. Pure.
import type { PlatformError } from '#core/errors.ts';
import { Compile, Type } from '#core/typebox/typebox.mjs';
import {
  DYNAMIC_REDIRECTS_MAX,
  HEADER_RULES_MAX,
  headerNameProblem,
  headerPatternProblem,
  isHeaderValue,
  redirectSourceProblem,
  redirectTargetProblem,
  STATIC_REDIRECTS_MAX,
} from '#core/asset-rules.ts';
import { artifactId } from '#core/artifact-id.ts';
import { descriptorOf } from '#core/bindings/kinds.ts';
import { isPoolVariable } from '#core/bindings/hyperdrive.ts';
import { isServiceText } from '#core/bindings/service.ts';
import { isClassName, isObjectText, ownClasses } from '#core/bindings/object.ts';
import { CLASSES_MAX, classesProblems } from '#core/bindings/object-classes.ts';
import type { AssetRules, DatabaseMigrations, Manifest, ServerRules } from '#core/manifest.ts';
import { isBindingName, isResourceName } from '#core/names.ts';
import { parsePathPattern } from '#core/path-pattern.ts';
import { releaseRules, stepsProblem } from '#core/release-settings.ts';
import { parseCronSchedule } from '#core/schedules/cron-schedule.ts';
import { archiveError } from '#core/archive/archive-error.ts';
import { shown } from '#core/archive/tar-header.ts';
import { assetPathProblem } from './artifact-path.ts';

const closed = { additionalProperties: false } as const;
const hash = Type.String({ pattern: '^[0-9a-f]{64}$' });
const size = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
const content = Type.Object({ hash, bytes: size }, closed);

/** Keys added to manifests must be added here. */
const properties = {
  version: Type.Literal(1),
  kind: Type.Union([Type.Literal('static'), Type.Literal('ssr'), Type.Literal('dynamic')]),
  worker: Type.Union([
    Type.Null(),
    Type.Object({ hash, bytes: size, mapHash: Type.Union([Type.Null(), hash]) }, closed),
  ]),
  compatibilityDate: Type.String({ pattern: '^\\d{4}-\\d{2}-\\d{2}$' }),
  compatibilityFlags: Type.Array(Type.String({ pattern: '^[a-z0-9][a-z0-9_.:-]{0,99}$' }), { maxItems: 100 }),
  assets: Type.Union([
    Type.Null(),
    Type.Object(
      {
        binding: Type.Union([Type.Null(), Type.String({ pattern: '^[A-Z_]{1,64}$' })]),
        notFoundHandling: Type.Union([
          Type.Literal('none'),
          Type.Literal('404-page'),
          Type.Literal('single-page-application'),
        ]),
        runWorkerFirst: Type.Union([
          Type.Boolean(),
          Type.Array(Type.String({ pattern: '^!?/', maxLength: 2000 }), { maxItems: 100 }),
        ]),
        errorPages: Type.Optional(
          Type.Record(Type.String({ pattern: '^(?:404|500|502|503|504)$' }), Type.String({ maxLength: 1000 }), closed),
        ),
        files: Type.Record(
          Type.String(),
          Type.Object(
            {
              hash,
              bytes: size,
              type: Type.String({ pattern: '^[\\x20-\\x7e]{1,255}$' }),
              encoded: Type.Optional(Type.Object({ br: Type.Optional(content), gzip: Type.Optional(content) }, closed)),
            },
            closed,
          ),
        ),
        headers: Type.Optional(
          Type.Array(
            Type.Object(
              {
                pattern: Type.String({ maxLength: 2000 }),
                set: Type.Array(Type.Tuple([Type.String({ maxLength: 2000 }), Type.String({ maxLength: 2000 })])),
                remove: Type.Array(Type.String({ maxLength: 2000 })),
              },
              closed,
            ),
            { maxItems: HEADER_RULES_MAX },
          ),
        ),
        redirects: Type.Optional(
          Type.Array(
            Type.Object(
              {
                from: Type.String({ maxLength: 1000 }),
                to: Type.String({ maxLength: 1000 }),
                status: Type.Union([
                  Type.Literal(200),
                  Type.Literal(301),
                  Type.Literal(302),
                  Type.Literal(303),
                  Type.Literal(307),
                  Type.Literal(308),
                ]),
                force: Type.Boolean(),
              },
              closed,
            ),
            { maxItems: STATIC_REDIRECTS_MAX + DYNAMIC_REDIRECTS_MAX },
          ),
        ),
      },
      closed,
    ),
  ]),
  bindings: Type.Record(Type.String(), Type.Record(Type.String(), Type.String())),
  objects: Type.Optional(Type.Record(Type.String(), Type.String())),
  objectClasses: Type.Optional(
    Type.Object(
      {
        renamed: Type.Optional(Type.Record(Type.String(), Type.String(), { maxProperties: CLASSES_MAX })),
        deleted: Type.Optional(Type.Array(Type.String(), { maxItems: CLASSES_MAX })),
        transferred: Type.Optional(Type.Record(Type.String(), Type.String(), { maxProperties: CLASSES_MAX })),
        received: Type.Optional(Type.Record(Type.String(), Type.String(), { maxProperties: CLASSES_MAX })),
      },
      closed,
    ),
  ),
  workflowClasses: Type.Optional(
    Type.Record(Type.String(), Type.String({ pattern: '^[A-Za-z_$][A-Za-z0-9_$]{0,127}$' })),
  ),
  queues: Type.Optional(
    Type.Record(
      Type.String(),
      Type.Object(
        {
          maxRetries: Type.Optional(Type.Integer({ minimum: 0, maximum: 100 })),
          retryDelayMs: Type.Optional(Type.Integer({ minimum: 0, maximum: 86_400_000 })),
          maxConcurrency: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000 })),
          deadLetter: Type.Optional(Type.String()),
        },
        closed,
      ),
    ),
  ),
  cron: Type.Record(
    Type.String(),
    Type.Object(
      {
        schedule: Type.String({ maxLength: 256 }),
        timezone: Type.String({ maxLength: 64 }),
        overlap: Type.Optional(Type.Literal('queue')),
      },
      closed,
    ),
  ),
  previews: Type.Optional(
    Type.Object(
      {
        db: Type.Optional(Type.Literal('empty')),
        cron: Type.Optional(Type.Literal('on')),
        queue: Type.Optional(Type.Literal('off')),
        timer: Type.Optional(Type.Literal('off')),
      },
      closed,
    ),
  ),
  release: Type.Optional(
    Type.Object(
      {
        steps: Type.Array(Type.Integer({ minimum: releaseRules.percentMin, maximum: releaseRules.percentMax }), {
          maxItems: releaseRules.stepsMax,
        }),
        minutes: Type.Integer({ minimum: releaseRules.minutesMin, maximum: releaseRules.minutesMax }),
        errors: Type.String({ pattern: releaseRules.errors }),
        p99: Type.String({ pattern: releaseRules.factor }),
        cpu: Type.String({ pattern: releaseRules.factor }),
      },
      closed,
    ),
  ),
  migrations: Type.Optional(Type.Object({ hash }, closed)),
  ai: Type.Boolean(),
  skewProtection: Type.Boolean(),
  server: Type.Optional(
    Type.Object(
      {
        hash,
        bytes: size,
        start: Type.String({ minLength: 1, maxLength: 2000 }),
        folder: Type.String({ maxLength: 1024 }),
      },
      closed,
    ),
  ),
} satisfies Record<keyof Manifest, unknown>;

const schema = Compile(Type.Object(properties, closed));

const migrationsSchema = Compile(
  Type.Array(
    Type.Object(
      {
        resource: Type.String(),
        files: Type.Array(Type.Tuple([Type.String({ minLength: 1, maxLength: 255 }), Type.String()]), {
          maxItems: 10_000,
        }),
      },
      closed,
    ),
    { maxItems: 1000 },
  ),
);

/** A valid manifest, with the id derived from its content. */
interface CheckedManifest {
  readonly id: string;
  readonly manifest: Manifest;
}

/** Validates the text of a manifest. @throws {PlatformError} `artifact_invalid`, with the position. */
export function checkManifest(text: string): CheckedManifest {
  const value = parseJson(text, 'manifest.json');
  if (!schema.Check(value)) {
    // For a nullable field, the deepest error is the relevant one.
    const first = schema.Errors(value).toSorted((a, b) => b.instancePath.length - a.instancePath.length)[0];
    const reason = first?.message === 'schema is false' ? 'is not a known field' : (first?.message ?? 'is not valid');
    throw wrong(`manifest.json: ${first?.instancePath.slice(0, 200) || 'the manifest'} ${reason}`);
  }
  const manifest: Manifest = value;
  const problem =
    kindProblem(manifest) ??
    bindingsProblem(manifest) ??
    classesProblem(manifest) ??
    cronProblem(manifest) ??
    releaseProblem(manifest) ??
    assetsProblem(manifest.assets);
  if (problem !== null) throw wrong(`manifest.json: ${problem}`);
  return { id: artifactId(manifest), manifest };
}

/** Validates the text of `migrations.json`. @throws {PlatformError} `artifact_invalid` */
export function checkMigrations(text: string, { bindings }: Manifest): readonly DatabaseMigrations[] {
  const value = parseJson(text, 'migrations.json');
  if (!migrationsSchema.Check(value)) throw wrong('migrations.json is not a list of databases with their SQL files');
  const migrations = value as DatabaseMigrations[];
  const databases = new Set(Object.values(bindings['db'] ?? {}));
  for (const { resource } of migrations)
    if (!databases.delete(resource)) throw wrong(`migrations.json: ${shown(resource)} is no database of the manifest`);
  return migrations;
}

function releaseProblem({ release }: Manifest): string | null {
  const problem = release === undefined ? null : stepsProblem(release.steps);
  return problem === null ? null : `release.steps ${problem}`;
}

function kindProblem({ kind, worker, assets, server }: Manifest): string | null {
  if ((kind === 'ssr') !== (server !== undefined)) return 'a project has a server if it is of the kind ssr';
  if (server !== undefined) return serverProblem(server);
  if (kind === 'static') return worker === null ? null : 'a static project has no worker';
  return worker === null && assets === null ? 'there is neither a worker nor assets' : null;
}

function serverProblem({ start, folder }: ServerRules): string | null {
  if (/\p{Cc}/u.test(start)) return 'server: its command contains a character that is not allowed';
  const problem = folder === '' ? null : assetPathProblem(folder);
  return problem === null ? null : `server: the folder ${shown(folder)} ${problem}`;
}

function bindingsProblem({ bindings, objects = {}, queues = {}, workflowClasses = {}, cron }: Manifest): string | null {
  for (const [name, exported] of Object.entries(objects)) {
    if (!isBindingName(name)) return `objects: ${shown(name)} is not a binding name`;
    if (!isObjectText(exported)) return `objects: ${shown(exported)} is not the name of a class`;
  }
  for (const [kind, declared] of Object.entries(bindings)) {
    if (descriptorOf(kind) === undefined) return `bindings: ${shown(kind)} is not a kind of bindings`;
    for (const [name, resource] of Object.entries(declared)) {
      if (!isBindingName(name)) return `bindings: ${shown(name)} is not a binding name`;
      if (kind === 'service') {
        if (!isServiceText(resource)) return `bindings: ${shown(resource)} is not a service`;
        continue;
      }
      if (kind === 'hyperdrive') {
        if (!isPoolVariable(resource)) return `bindings: ${shown(resource)} is not the name of a variable`;
        continue;
      }
      // Resource names are used in names of files and tables, so no other characters are allowed.
      if (!isResourceName(resource)) return `bindings: ${shown(resource)} is not a resource name`;
    }
  }
  for (const [resource, { deadLetter = resource }] of Object.entries(queues))
    if (!isResourceName(resource) || !isResourceName(deadLetter))
      return `queues: ${shown(resource)} is not a resource name`;
  for (const resource of Object.keys(workflowClasses))
    if (!isResourceName(resource)) return `workflowClasses: ${shown(resource)} is not a resource name`;
  for (const name of Object.keys(cron)) if (!isBindingName(name)) return `cron: ${shown(name)} is not a binding name`;
  return null;
}

function classesProblem({ objects, objectClasses = {} }: Manifest): string | null {
  const { renamed = {}, deleted = [], transferred = {}, received = {} } = objectClasses;
  const moved = { ...transferred, ...received };
  for (const name of [...Object.entries(renamed).flat(), ...deleted, ...Object.keys(moved)])
    if (!isClassName(name)) return `objectClasses: ${shown(name)} is not the name of a class`;
  for (const text of [...Object.values(transferred), ...Object.values(received)])
    if (!isObjectText(text) || !text.includes('#') || text.includes('?'))
      return `objectClasses: ${shown(text)} is not a class of another project`;
  const [problem] = classesProblems(objectClasses, new Set(Object.values(ownClasses(objects))));
  return problem === undefined ? null : `objectClasses: ${problem.message}`;
}

function cronProblem({ cron }: Manifest): string | null {
  for (const [name, { schedule, timezone }] of Object.entries(cron)) {
    const parsed = parseCronSchedule(schedule);
    if ('problem' in parsed) return `cron ${name}: ${parsed.problem}`;
    if (!isTimezone(timezone)) return `cron ${name}: ${shown(timezone)} is not a time zone`;
  }
  return null;
}

function isTimezone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

function assetsProblem(assets: AssetRules | null): string | null {
  if (assets === null) return null;
  for (const path of Object.keys(assets.files)) {
    const problem = assetPathProblem(path);
    if (problem !== null) return `the asset ${shown(path)} ${problem}`;
  }
  for (const key of Object.values(assets.errorPages ?? {}))
    if (!Object.hasOwn(assets.files, key)) return `the error page ${shown(key)} is not among the assets`;
  for (const { pattern, set, remove } of assets.headers ?? []) {
    const problem =
      headerPatternProblem(pattern) ??
      set.map(([name]) => headerNameProblem(name, false)).find((found) => found !== null) ??
      remove.map((name) => headerNameProblem(name, true)).find((found) => found !== null) ??
      null;
    if (problem !== null) return `a rule of headers: ${problem}`;
    if (!set.every(([, value]) => isHeaderValue(value)))
      return 'a rule of headers contains a character that is not allowed in headers';
  }
  for (const { from, to, status } of assets.redirects ?? []) {
    const problem = redirectProblem(from, to, status === 200);
    if (problem !== null) return `a redirect: ${problem}`;
  }
  return null;
}

function redirectProblem(from: string, to: string, isRewrite: boolean): string | null {
  const problem = redirectSourceProblem(from);
  if (problem !== null) return problem;
  try {
    const reason = redirectTargetProblem(to, parsePathPattern(from), isRewrite);
    return reason === null ? null : `the target ${shown(to)} ${reason}`;
  } catch (error) {
    return `the source ${shown(from)} is no pattern: ${(error as Error).message}`;
  }
}

function parseJson(text: string, name: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw wrong(`${name} is not JSON`);
  }
}

/**
 * The files that a manifest names, with their hashes and, if given, their sizes.
 *
 * @throws {PlatformError} if the manifest contradicts itself.
 */
export function filesOf(manifest: Manifest): Map<string, { readonly hash: string; readonly bytes: number | null }> {
  const files = new Map<string, { readonly hash: string; readonly bytes: number | null }>();
  const { worker, migrations, assets, server } = manifest;
  if (worker !== null) {
    files.set('worker.js', { hash: worker.hash, bytes: worker.bytes });
    if (worker.mapHash !== null) files.set('worker.js.map', { hash: worker.mapHash, bytes: null });
  }
  if (server !== undefined) files.set('server.tar', { hash: server.hash, bytes: server.bytes });
  if (migrations !== undefined) files.set('migrations.json', { hash: migrations.hash, bytes: null });
  for (const [path, { hash: own, bytes, encoded = {} }] of Object.entries(assets?.files ?? {})) {
    files.set(`assets/${path}`, { hash: own, bytes });
    for (const form of Object.values(encoded)) {
      const name = `encoded/${form.hash}`;
      // Sizes become Content-Length: a wrong size would corrupt other responses on the same connection.
      if ((files.get(name)?.bytes ?? form.bytes) !== form.bytes) throw wrong(`${shown(name)} has two sizes`);
      files.set(name, form);
    }
  }
  return files;
}

function wrong(what: string): PlatformError {
  return archiveError('artifact_invalid', `The artifact cannot be used: ${what}`);
}
