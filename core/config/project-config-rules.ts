// The rules of platform.yaml that its schema cannot express. Called by project-config.ts; reports problems with their
// positions.
import type { Node } from 'yaml';
import { namedKinds } from '../bindings/kinds.ts';
import { objectText, ownClasses } from '../bindings/object.ts';
import { CLASSES_MAX, classesOf, classesProblems } from '../bindings/object-classes.ts';
import type { OtherClass } from '../bindings/object-transfers.ts';
import { quoted } from '../problem.ts';
import { stepsProblem } from '../release-settings.ts';
import { parseCronSchedule } from '../schedules/cron-schedule.ts';
import { flagWarning } from './compatibility-flags.ts';
import type { ProjectFile } from './project-config-schema.ts';
import type { Checked } from './schema-check.ts';
import { agentBindings, resourceOf, settingsOf, type WrittenQueue, type WrittenWorkflow } from './written-bindings.ts';
import type { YamlSource } from './yaml-source.ts';

/** Earliest `compatibility_date`. */
const EARLIEST_DATE = '2023-01-01';

/** Rules that a schema cannot express, over one checked file. */
export function rulesOf(source: YamlSource, { entries }: Checked) {
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
    for (const name of Object.keys(written.object ?? {})) {
      const path = `object.${name}`;
      refuseReserved(name, keyOf(path), path);
      claim(name, 'object', keyOf(path), path);
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

  function checkObjects(written: ProjectFile): void {
    if (written.object !== undefined && written.kind === 'static')
      warn('A static project has no worker that could export classes', 'kind');
    const { object = {}, object_classes: classes = {} } = written;
    const { renamed = {}, deleted = [], transferred = {}, received = {} } = classes;
    for (const [key, list] of Object.entries({ renamed, transferred, received })) {
      const path = `object_classes.${key}`;
      if (Object.keys(list).length > CLASSES_MAX) fail(`${path} has more than ${CLASSES_MAX} classes`, path);
    }
    // An invalid item was reported and is undefined here.
    const others: (Partial<OtherClass> | undefined)[] = [...Object.values(transferred), ...Object.values(received)];
    if ([...deleted, ...others.flatMap((one) => [one?.project, one?.class])].some((name) => name === undefined)) return;
    const texts = Object.fromEntries(Object.entries(object).map(([name, value]) => [name, objectText(value)]));
    for (const { path, message } of classesProblems(classesOf(classes), new Set(Object.values(ownClasses(texts))))) {
      const [key, at] = path;
      fail(message, key === 'deleted' ? `object_classes.deleted[${at}]` : `object_classes.${key}.${at}`);
    }
  }

  function checkQueues(written: ProjectFile): void {
    const said = new Map<string, string>();
    const queues = Object.entries(written.queue ?? {}).filter(
      (entry): entry is [string, Exclude<WrittenQueue, string>] => {
        // A binding without a name was already reported.
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

  function checkWorkflows(written: ProjectFile): void {
    const classOf = (value: WrittenWorkflow): string | undefined =>
      typeof value === 'string' ? undefined : value.class;
    const declared = new Map<string, { readonly binding: string; readonly className: string | undefined }>();
    for (const [binding, value] of Object.entries(written.workflow ?? {})) {
      const name = resourceOf(value);
      const className = classOf(value);
      const path = `workflow.${binding}`;
      const before = declared.get(name);
      if (before !== undefined && before.className !== className)
        fail(`${binding} and ${before.binding} declare different classes for the workflow ${quoted(name)}`, path);
      else declared.set(name, { binding, className });
    }
  }

  function checkAssets(written: ProjectFile): void {
    const patterns = written.assets?.run_worker_first;
    if (Array.isArray(patterns) && patterns.length > 0 && patterns.every((pattern) => pattern?.startsWith('!'))) {
      warn('All patterns exclude paths, so no request goes to the worker first', 'assets.run_worker_first');
    }
  }

  function checkCron(written: ProjectFile): void {
    for (const [name, value] of Object.entries(written.cron ?? {})) {
      const inner = `cron.${name}`;
      const { schedule, timezone } = typeof value === 'string' ? { schedule: value } : value;
      const path = typeof value === 'string' ? inner : `${inner}.schedule`;
      // A missing name, or one that is not text, was already reported.
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

  function checkRelease(written: ProjectFile): void {
    const steps = written.release?.steps;
    // An invalid item was reported and is undefined here.
    if (steps === undefined || steps.some((percent) => percent === undefined)) return;
    const problem = stepsProblem(steps);
    if (problem !== null) fail(`release.steps ${problem}`, 'release.steps');
  }

  return {
    checkPaths,
    checkBuild,
    checkCompatibility,
    checkNames,
    checkQueues,
    checkObjects,
    checkWorkflows,
    checkAssets,
    checkCron,
    checkRelease,
    warn,
  };
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
