// Parses platform.yaml (docs/platform-yaml.md): text -> configuration with all defaults resolved, or problems with
// their positions. Called by the builder, `platform dev` and `platform types`. No I/O; never throws on bad input.
import type { Node } from 'yaml';
import { flagWarning } from './compatibility-flags.ts';
import { defaultPreviewSettings, type PreviewSettings } from '../preview-settings.ts';
import { parseCronSchedule } from '../schedules/cron-schedule.ts';
import type { QueueSettings, QueuesSettings } from '../queue-settings.ts';
import { hasErrors, quoted, type Problem } from '../problem.ts';
import { bindings as descriptors, namedKinds, type NamedKind } from '../bindings/kinds.ts';
import { projectFileSchema, type ProjectFile } from './project-config-schema.ts';
import { checkSource, type Checked } from './schema-check.ts';
import { readYaml, type YamlSource } from './yaml-source.ts';

/** How static files of a dynamic project are served. */
export interface AssetsConfig {
  /** Name of the asset fetcher in `env`. */
  readonly binding: string | null;
  readonly notFoundHandling: 'none' | '404-page' | 'single-page-application';
  /** `true`: every request goes to the worker first; patterns: requests that match one, and none with a leading `!`. */
  readonly runWorkerFirst: boolean | readonly string[];
  /** Status -> path of the page that browsers get for an error of the platform. */
  readonly errorPages: Readonly<Record<string, string>>;
}

/** A schedule of `cron`. */
interface CronConfig {
  /** Five or six fields, valid. */
  readonly schedule: string;
  /** IANA name. */
  readonly timezone: string;
  /** Handling of a run that is due while the previous one still runs. */
  readonly overlap: 'skip' | 'queue';
}

/** A project's complete configuration: missing keys have their default, or null without one. */
export interface ProjectConfig {
  readonly name: string | null;
  /** Null: detected from the project's files. `worker` is converted to `dynamic`. */
  readonly kind: 'static' | 'ssr' | 'dynamic' | null;
  /** Entry file of the worker, relative to `base`; null: detected. */
  readonly main: string | null;
  readonly build: string | null;
  /** Relative to `base`, no trailing slash; null: depends on the framework. */
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
  /** By kind: binding name -> resource name, including those of the agent library. */
  readonly bindings: Readonly<Record<NamedKind, Readonly<Record<string, string>>>>;
  /** Queues with settings, by resource name. */
  readonly queues: QueuesSettings;
  readonly auth: { readonly binding: string } | null;
  /** Also true when `agentSDK` is. */
  readonly ai: boolean;
  /** By name. */
  readonly cron: Readonly<Record<string, CronConfig>>;
  readonly previews: PreviewSettings;
}

/** Result of reading a file: a configuration (null if a problem is an error) and all problems. */
interface ParsedProjectConfig {
  readonly config: ProjectConfig | null;
  readonly problems: readonly Problem[];
}

/** The bindings that `agentSDK: true` adds. */
export const agentBindings = {
  state: { PLATFORM_AGENT_STATE: 'platform_agent_state' },
  fs: { PLATFORM_AGENT_FILES: 'platform_agent_files' },
  workflow: { PLATFORM_AGENT_WORKFLOW: 'platform_agent_run' },
  timer: { PLATFORM_AGENT_SCHEDULER: 'platform_agent_scheduler' },
} as const satisfies Partial<Record<NamedKind, Record<string, string>>>;

/** Earliest `compatibility_date`. */
const EARLIEST_DATE = '2023-01-01';

/** Removed keys of older files, and their replacements. */
const removedKeys: Readonly<Record<string, { message: string; hint: string }>> = {
  env: {
    message: "The key 'env' is not part of platform.yaml any more",
    hint: 'Set variables in the dashboard, or in .env for development; the worker reads them as env.vars.NAME.',
  },
  monorepo: {
    message: "The key 'monorepo' is not part of platform.yaml any more",
    hint: 'Delete it: a monorepo is recognised by its workspace files. Use base for the directory of this project.',
  },
};

/** Names of our keys on other platforms. */
const otherNames: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    Object.entries(descriptors).flatMap(([kind, { otherNames: names }]) => names.map((name) => [name, kind] as const)),
  ),
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
    if (Object.hasOwn(removedKeys, path)) return removedKeys[path];
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
  rules.checkAssets(written);
  rules.checkCron(written);
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
            notFoundHandling: assets.not_found_handling ?? 'none',
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
    auth: written.auth === undefined ? null : { binding: written.auth.binding },
    ai: written.agentSDK === true || written.ai === true,
    cron: Object.fromEntries(Object.entries(written.cron ?? {}).map(([name, value]) => [name, resolvedCron(value)])),
    previews: { ...defaultPreviewSettings, ...written.previews },
  };
}

type WrittenQueue = NonNullable<ProjectFile['queue']>[string];

function resourceOf(value: WrittenQueue): string {
  return typeof value === 'string' ? value : value.name;
}

function resolvedQueues({ queue }: ProjectFile): QueuesSettings {
  const queues: Record<string, QueueSettings> = {};
  for (const value of Object.values(queue ?? {})) {
    if (typeof value === 'string') continue;
    const settings = settingsOf(value);
    if (Object.keys(settings).length > 0) queues[value.name] = settings;
  }
  return queues;
}

function settingsOf(value: Exclude<WrittenQueue, string>): QueueSettings {
  const {
    max_retries: maxRetries,
    retry_delay: delay,
    max_concurrency: maxConcurrency,
    dead_letter: deadLetter,
  } = value;
  return {
    ...(maxRetries === undefined ? {} : { maxRetries }),
    ...(delay === undefined ? {} : { retryDelayMs: delay * 1000 }),
    ...(maxConcurrency === undefined ? {} : { maxConcurrency }),
    ...(deadLetter === undefined ? {} : { deadLetter }),
  };
}

function resolvedCron(value: NonNullable<ProjectFile['cron']>[string]): CronConfig {
  const { schedule, timezone, overlap } = typeof value === 'string' ? { schedule: value } : value;
  return { schedule: schedule.trim(), timezone: timezone ?? 'UTC', overlap: overlap ?? 'skip' };
}

function withoutTrailingSlash(path: string): string {
  return path.replace(/\/+$/, '');
}

/** Rules that a schema cannot express, over one checked file. */
function rulesOf(source: YamlSource, { entries }: Checked) {
  const keyOf = (path: string): Node | undefined => entries.get(path)?.key;
  const valueOf = (path: string): Node | undefined => entries.get(path)?.value;
  const fail = (message: string, path: string, hint?: string) => source.report(message, valueOf(path), path, { hint });
  const warn = (message: string, path: string) => source.report(message, valueOf(path), path, { severity: 'warning' });

  function checkPaths(written: ProjectFile): void {
    const names = { out: 'Out path', base: 'Base path', main: 'Main path' } as const;
    for (const key of ['base', 'main', 'out'] as const) {
      const path = written[key];
      if (path === undefined) continue;
      if (/^(?:[\\/]|[A-Za-z]:)/.test(path)) fail(`${names[key]} must be relative, not absolute`, key);
      else if (path.includes('..')) fail(`${names[key]} cannot contain '..'`, key);
      else if (path.includes('\\')) fail(`${names[key]} cannot contain '\\'`, key, 'Separate folders with "/".');
      else if (/\p{Cc}/u.test(path)) fail(`${names[key]} cannot contain control characters`, key);
      else if (path.trim() !== path || path === '') fail(`${names[key]} cannot begin or end with a space`, key);
    }
  }

  function checkBuild(written: ProjectFile): void {
    const blank = written.build !== undefined && written.build.trim() === '';
    // A build key that is not text was already reported.
    const missing = blank || (written.build === undefined && !entries.has('build'));
    if (written.kind === 'static' && missing) {
      const hint = 'Add a line such as "build: npm run build".';
      source.report("Build command is required when kind is 'static'", valueOf(blank ? 'build' : 'kind'), 'build', {
        hint,
      });
    } else if (blank) {
      fail('build must be a shell command, not an empty text', 'build');
    }
    if (written.build?.includes('\0')) fail('build cannot contain NUL characters', 'build');
  }

  function checkCompatibility(written: ProjectFile, now: Date): void {
    const date = written.compatibility_date;
    if (date !== undefined) {
      const today = now.toISOString().slice(0, 10);
      const time = Date.parse(`${date}T00:00:00Z`);
      if (Number.isNaN(time) || new Date(time).toISOString().slice(0, 10) !== date) {
        fail(`compatibility_date ${quoted(date)} is not a day of the calendar`, 'compatibility_date');
      } else if (date < EARLIEST_DATE) {
        fail(`compatibility_date must be ${EARLIEST_DATE} or later, not ${date}`, 'compatibility_date');
      } else if (date > today) {
        fail(
          `compatibility_date must not be in the future: ${date} is after today, ${today} (UTC)`,
          'compatibility_date',
        );
      }
    }
    const seen = new Set<string>();
    for (const [index, flag] of (written.compatibility_flags ?? []).entries()) {
      const path = `compatibility_flags[${index}]`;
      // An invalid item was reported and is undefined here.
      if (flag === undefined) continue;
      const opposite = flag.startsWith('no_') ? flag.slice(3) : `no_${flag}`;
      if (seen.has(flag)) warn(`The flag ${quoted(flag)} is there twice`, path);
      if (seen.has(opposite)) fail(`The flags ${quoted(opposite)} and ${quoted(flag)} contradict each other`, path);
      const warning = flagWarning(flag);
      if (warning !== null && !seen.has(flag))
        source.report(warning.message, valueOf(path), path, {
          severity: 'warning',
          ...(warning.hint && { hint: warning.hint }),
        });
      seen.add(flag);
    }
  }

  function checkNames(written: ProjectFile): void {
    const owners = new Map<string, string>();
    const claim = (name: string, owner: string, node: Node | undefined, path: string) => {
      const first = owners.get(name);
      if (first !== undefined)
        source.report(`The binding name ${name} is used twice: in ${first} and in ${owner}`, node, path);
      else owners.set(name, owner);
    };
    if (written.ai || written.agentSDK) owners.set('AI', written.ai ? 'ai' : 'agentSDK');
    for (const kind of namedKinds) {
      for (const [name, value] of Object.entries(written[kind] ?? {})) {
        const resource = resourceOf(value);
        const path = `${kind}.${name}`;
        const own: Readonly<Record<string, string>> =
          kind in agentBindings ? agentBindings[kind as keyof typeof agentBindings] : {};
        if (!Object.hasOwn(own, name)) refuseReserved(name, keyOf(path), path);
        else if (own[name] !== resource)
          fail(`${name} belongs to the agent library and must be bound to "${own[name]}"`, path);
        claim(name, kind, keyOf(path), path);
      }
    }
    const auth = written.auth?.binding;
    if (auth !== undefined) {
      if (auth !== 'PLATFORM_AUTH') refuseReserved(auth, valueOf('auth.binding'), 'auth.binding');
      claim(auth, 'auth', valueOf('auth.binding'), 'auth.binding');
    }
    const assets = written.assets?.binding;
    if (assets !== undefined) {
      refuseReserved(assets, valueOf('assets.binding'), 'assets.binding');
      claim(assets, 'assets', valueOf('assets.binding'), 'assets.binding');
    }
  }

  function refuseReserved(name: string, node: Node | undefined, path: string): void {
    if (!name.startsWith('PLATFORM_')) return;
    source.report(`The binding name ${name} is reserved`, node, path, {
      hint: 'Names that begin with PLATFORM_ belong to the platform.',
    });
  }

  function checkQueues(written: ProjectFile): void {
    const said = new Map<string, string>();
    const queues = Object.entries(written.queue ?? {}).filter(
      (entry): entry is [string, Exclude<WrittenQueue, string>] => {
        // One without a name was already reported.
        return typeof entry[1] !== 'string' && entry[1].name !== undefined;
      },
    );
    const dead = new Map(queues.map(([name, { dead_letter: deadLetter }]) => [deadLetter, name]));
    for (const [name, value] of queues) {
      const path = `queue.${name}`;
      const text = JSON.stringify(Object.entries(settingsOf(value)));
      const before = said.get(value.name);
      said.set(value.name, text);
      if (before !== undefined && before !== text)
        fail(`Two bindings of the queue ${quoted(value.name)} say different things of it`, path);
      if (value.dead_letter === undefined) continue;
      const inner = `${path}.dead_letter`;
      if (value.dead_letter === value.name) fail(`${quoted(value.name)} cannot take its own dead letters`, inner);
      else if (dead.has(value.name))
        fail(
          `${quoted(value.name)} takes the dead letters of ${dead.get(value.name)}: what fails there stays there`,
          inner,
        );
    }
  }

  function checkAssets(written: ProjectFile): void {
    const patterns = written.assets?.run_worker_first;
    if (Array.isArray(patterns) && patterns.length > 0 && patterns.every((pattern) => pattern?.startsWith('!'))) {
      warn('Every pattern excludes, so no request goes to the worker first', 'assets.run_worker_first');
    }
  }

  function checkCron(written: ProjectFile): void {
    for (const [name, value] of Object.entries(written.cron ?? {})) {
      const inner = `cron.${name}`;
      const { schedule, timezone } = typeof value === 'string' ? { schedule: value } : value;
      const path = typeof value === 'string' ? inner : `${inner}.schedule`;
      // A missing or non-text one was already reported.
      const parsed = schedule === undefined ? undefined : parseCronSchedule(schedule);
      if (parsed && 'problem' in parsed) fail(parsed.problem, path);
      if (timezone !== undefined && !isTimeZone(timezone)) {
        fail(
          `${quoted(timezone)} is not a time zone`,
          `${inner}.timezone`,
          'Use an IANA name, such as "Europe/Berlin" or "UTC".',
        );
      }
    }
  }

  return { checkPaths, checkBuild, checkCompatibility, checkNames, checkQueues, checkAssets, checkCron, warn };
}

function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z][\w+/-]{0,63}$/.test(name)) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
