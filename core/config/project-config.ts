// Parses platform.yaml (docs/platform-yaml.md): text -> configuration with all defaults resolved, or problems with
// their positions. Called by the builder, `platform dev` and `platform types`. No I/O; never throws on bad input.
import { defaultPreviewSettings, type PreviewSettings } from '../preview-settings.ts';
import { defaultReleaseSettings, type ReleaseSettings } from '../release-settings.ts';
import type { QueuesSettings } from '../queue-settings.ts';
import { hasErrors, type Problem } from '../problem.ts';
import { bindings as descriptors, namedKinds, type NamedKind } from '../bindings/kinds.ts';
import { object, objectText } from '../bindings/object.ts';
import { classesOf, objectClasses, type ObjectClasses } from '../bindings/object-classes.ts';
import { rulesOf } from './project-config-rules.ts';
import { projectFileSchema, type ProjectFile } from './project-config-schema.ts';
import { checkSource } from './schema-check.ts';
import { agentBindings, resolvedQueues, resourceOf, workflowClasses } from './written-bindings.ts';
import { readYaml } from './yaml-source.ts';

/** How static files are served. */
export interface AssetsConfig {
  /** Name of the asset fetcher in `env`. */
  readonly binding: string | null;
  /** Null means `404-page` for a site, `none` with a worker. */
  readonly notFoundHandling: 'none' | '404-page' | 'single-page-application' | null;
  /**
   * `true`: every request goes to the worker first. Patterns: requests that match a pattern, and none with a leading
   * `!`.
   */
  readonly runWorkerFirst: boolean | readonly string[];
  /** Maps a status to the path of the page that browsers get for an error of the platform. */
  readonly errorPages: Readonly<Record<string, string>>;
}

/** A schedule of `cron`. */
interface CronConfig {
  /** A valid cron expression of five or six fields. */
  readonly schedule: string;
  /** IANA name. */
  readonly timezone: string;
  /** Handling of a run that is due while the previous run is still running. */
  readonly overlap: 'skip' | 'queue';
}

/** A project's complete configuration: missing keys have their default, or null if there is none. */
export interface ProjectConfig {
  readonly name: string | null;
  /** The kind; null means that it is detected from the project's files. `worker` is converted to `dynamic`. */
  readonly kind: 'static' | 'ssr' | 'dynamic' | null;
  /** Entry file of the worker, relative to `base`; null means it is detected. */
  readonly main: string | null;
  readonly build: string | null;
  /** Relative to `base`, no trailing slash; null means it depends on the framework. */
  readonly out: string | null;
  /** Relative to the repository, no trailing slash; `.` is its root. */
  readonly base: string;
  readonly assets: AssetsConfig | null;
  readonly agentSdk: boolean;
  readonly skewProtection: boolean;
  /** `YYYY-MM-DD`. */
  readonly compatibilityDate: string | null;
  /** Without duplicates. */
  readonly compatibilityFlags: readonly string[];
  readonly dev: { readonly port: number; readonly host: string };
  /** By kind: binding name -> resource name, including the bindings of the agent library. */
  readonly bindings: Readonly<Record<NamedKind, Readonly<Record<string, string>>>>;
  /** Queues with settings, by resource name. */
  readonly queues: QueuesSettings;
  /** Workflows that are classes: resource name -> exported class; absent without any. */
  readonly workflowClasses?: Readonly<Record<string, string>>;
  readonly auth: { readonly binding: string } | null;
  /** Durable objects: binding name -> class, of another project as `project#Class`. */
  readonly objects: Readonly<Record<string, string>>;
  /** Renamed and deleted classes; absent if there are none. */
  readonly objectClasses?: ObjectClasses;
  /** Also true when `agentSDK` is true. */
  readonly ai: boolean;
  /** By name. */
  readonly cron: Readonly<Record<string, CronConfig>>;
  readonly previews: PreviewSettings;
  /** Null means the project's settings decide. */
  readonly release: ReleaseSettings | null;
}

/** Result of reading a file: a configuration (null if a problem is an error) and all problems. */
interface ParsedProjectConfig {
  readonly config: ProjectConfig | null;
  readonly problems: readonly Problem[];
}

/** Keys of older files and other platforms that are not supported, with their replacements. */
const unsupportedKeys: Readonly<Record<string, { message: string; hint: string }>> = {
  env: {
    message: "The key 'env' is not part of platform.yaml any more",
    hint: 'Set variables in the dashboard, or in .env for development; the worker reads them as env.vars.NAME.',
  },
  monorepo: {
    message: "The key 'monorepo' is not part of platform.yaml any more",
    hint: 'Delete it: a monorepo is recognised by its workspace files. Use base for the directory of this project.',
  },
};

/** Names that other platforms use for our keys. */
const otherNames: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    Object.entries(descriptors).flatMap(([kind, { otherNames: names }]) => names.map((name) => [name, kind] as const)),
  ),
  ...Object.fromEntries(object.otherNames.map((name) => [name, 'object'])),
  ...Object.fromEntries(objectClasses.otherNames.map((name) => [name, 'object_classes'])),
  command: 'build',
  output: 'out',
  outDir: 'out',
  dist: 'out',
  root: 'base',
  entry: 'main',
  type: 'kind',
  schedule: 'cron',
  port: 'dev',
};

/**
 * Parses the text of a platform.yaml.
 *
 * @param options.file name in problems, such as `apps/shop/platform.yaml`.
 * @param options.now latest day for `compatibility_date`.
 * @example const { config, problems } = parseProjectConfig('kind: worker\n', { file: 'platform.yaml' }); config?.kind
 * // 'dynamic'
 */
export function parseProjectConfig(
  text: string,
  options: { readonly file: string; readonly now?: Date },
): ParsedProjectConfig {
  const source = readYaml(text, options.file);
  if (!source.readable) return { config: null, problems: source.problems };
  const checked = checkSource(source, projectFileSchema, (path) => {
    if (Object.hasOwn(unsupportedKeys, path)) return unsupportedKeys[path];
    return Object.hasOwn(otherNames, path) ? { hint: `Did you mean "${otherNames[path]}"?` } : undefined;
  });
  // Values that did not match the schema were reported and omitted from `value`, so the rest has the right types.
  const written = checked.value as ProjectFile;
  const rules = rulesOf(source, checked);
  rules.checkPaths(written);
  rules.checkBuild(written);
  rules.checkCompatibility(written, options.now ?? new Date());
  rules.checkNames(written);
  rules.checkQueues(written);
  rules.checkObjects(written);
  rules.checkWorkflows(written);
  rules.checkAssets(written);
  rules.checkCron(written);
  rules.checkRelease(written);
  if (written.agentSDK && written.ai === false) {
    rules.warn("'ai: false' has no effect, because agentSDK needs the AI binding", 'ai');
  }
  if (written.kind === 'static' && namedKinds.some((kind) => written[kind] !== undefined)) {
    rules.warn('A static project has no worker that could use bindings', 'kind');
  }
  const { problems } = source;
  return { config: hasErrors(problems) ? null : resolved(written), problems };
}

function resolved(written: ProjectFile): ProjectConfig {
  const bindings = {} as Record<NamedKind, Record<string, string>>;
  for (const kind of namedKinds) {
    const added: Readonly<Record<string, string>> =
      written.agentSDK && kind in agentBindings ? agentBindings[kind as keyof typeof agentBindings] : {};
    const declared = Object.entries(written[kind] ?? {}).map(([name, value]) => [name, resourceOf(value)]);
    bindings[kind] = { ...(Object.fromEntries(declared) as Record<string, string>), ...added };
  }
  const { assets, dev } = written;
  return {
    name: written.name ?? null,
    kind: written.kind === 'worker' ? 'dynamic' : (written.kind ?? null),
    main: written.main ?? null,
    build: written.build === undefined || written.build.trim() === '' ? null : written.build,
    out: written.out === undefined ? null : withoutTrailingSlash(written.out),
    base: written.base === undefined ? '.' : withoutTrailingSlash(written.base),
    assets:
      assets === undefined
        ? null
        : {
            binding: assets.binding ?? null,
            notFoundHandling: assets.not_found_handling ?? null,
            runWorkerFirst: assets.run_worker_first ?? false,
            errorPages: assets.error_pages ?? {},
          },
    agentSdk: written.agentSDK ?? false,
    skewProtection: written.skew_protection ?? true,
    compatibilityDate: written.compatibility_date ?? null,
    compatibilityFlags: [...new Set(written.compatibility_flags)],
    dev: { port: dev?.port ?? 3000, host: dev?.host ?? 'localhost' },
    bindings,
    queues: resolvedQueues(written),
    objects: Object.fromEntries(Object.entries(written.object ?? {}).map(([name, value]) => [name, objectText(value)])),
    ...(written.object_classes === undefined ? {} : { objectClasses: classesOf(written.object_classes) }),
    ...workflowClasses(written),
    auth: written.auth === undefined ? null : { binding: written.auth.binding },
    ai: written.agentSDK === true || written.ai === true,
    cron: Object.fromEntries(Object.entries(written.cron ?? {}).map(([name, value]) => [name, resolvedCron(value)])),
    previews: { ...defaultPreviewSettings, ...written.previews },
    release: written.release === undefined ? null : { ...defaultReleaseSettings, ...written.release },
  };
}

function resolvedCron(value: NonNullable<ProjectFile['cron']>[string]): CronConfig {
  const { schedule, timezone, overlap } = typeof value === 'string' ? { schedule: value } : value;
  return { schedule: schedule.trim(), timezone: timezone ?? 'UTC', overlap: overlap ?? 'skip' };
}

function withoutTrailingSlash(path: string): string {
  return path.replace(/\/+$/, '');
}
