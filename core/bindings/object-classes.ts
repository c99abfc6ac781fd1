// The key `object_classes` of platform.yaml: classes of durable objects that were renamed, deleted or moved to another
// project. Objects belong to the first name of their class, from which their ids are derived. Therefore every
// deployment finds the objects, including earlier ones. Pure.
import { className, ownClasses } from './object.ts';
import { projectName } from './service.ts';

const EXPECTS_NAMES = 'the name of a class';
/** Renamed and deleted classes of a project. */
export const CLASSES_MAX = 100;

const otherClass = {
  type: 'object',
  additionalProperties: false,
  required: ['project', 'class'],
  properties: { project: projectName, class: className },
  expects: 'a class of another project, such as {project: shop, class: ChatRoom}',
} as const;

const otherClasses = {
  type: 'object',
  patternProperties: { [className.pattern]: otherClass } as {
    readonly '^(?!__proto__$)[A-Za-z_$][A-Za-z0-9_$]{0,63}$': typeof otherClass;
  },
  additionalProperties: false,
  expects: 'a map from classes to those of other projects, such as {Room: {project: shop, class: ChatRoom}}',
  expectsNames: EXPECTS_NAMES,
} as const;

export const objectClasses = {
  schema: {
    type: 'object',
    description: 'Classes of durable objects that were renamed, deleted or moved to another project.',
    additionalProperties: false,
    properties: {
      renamed: {
        type: 'object',
        description: 'Former names of classes, with their current names. Kept for as long as the class exists.',
        patternProperties: { [className.pattern]: className } as {
          readonly '^(?!__proto__$)[A-Za-z_$][A-Za-z0-9_$]{0,63}$': typeof className;
        },
        additionalProperties: false,
        expects: 'a map from former names of classes to new ones, such as {Room: ChatRoom}',
        expectsNames: EXPECTS_NAMES,
      },
      deleted: {
        type: 'array',
        maxItems: CLASSES_MAX,
        description: 'Classes whose objects are deleted when a deployment becomes production.',
        items: className,
        expects: 'a list of classes, such as [Draft]',
      },
      transferred: {
        ...otherClasses,
        description:
          'Classes that this project transferred, with the classes of other projects that now have their objects.',
      },
      received: {
        ...otherClasses,
        description: 'Classes that receive the objects of a class of another project.',
      },
    },
    expects: 'a map with the keys "renamed", "deleted", "transferred" and "received"',
  },
  otherNames: ['migrations', 'renamed_classes', 'deleted_classes', 'transferred_classes'],
} as const;

/** The classes of a manifest; absent keys are empty. */
export interface ObjectClasses {
  /** Former name -> name. */
  readonly renamed?: Readonly<Record<string, string>>;
  readonly deleted?: readonly string[];
  /** Maps a class to the `project#Class` that has its objects now. */
  readonly transferred?: Readonly<Record<string, string>>;
  /** Maps a class to the `project#Class` whose objects it has. */
  readonly received?: Readonly<Record<string, string>>;
}

/** Classes as platform.yaml declares them. */
interface WrittenClasses extends Pick<ObjectClasses, 'renamed' | 'deleted'> {
  readonly transferred?: Readonly<Record<string, { readonly project: string; readonly class: string }>>;
  readonly received?: Readonly<Record<string, { readonly project: string; readonly class: string }>>;
}

/** Classes as a manifest has them. */
export function classesOf({ transferred, received, ...own }: WrittenClasses): ObjectClasses {
  const texts = (list: NonNullable<WrittenClasses['received']>): Record<string, string> =>
    Object.fromEntries(Object.entries(list).map(([name, other]) => [name, `${other.project}#${other.class}`]));
  return {
    ...own,
    ...(transferred === undefined ? {} : { transferred: texts(transferred) }),
    ...(received === undefined ? {} : { received: texts(received) }),
  };
}

/** The objects of a manifest. */
export interface DeclaredClasses {
  readonly objects?: Readonly<Record<string, string>>;
  readonly objectClasses?: ObjectClasses;
}

/** The first name of a class that a worker exports. */
export function firstNameOf({ renamed = {} }: ObjectClasses, name: string): string {
  const before = Object.entries(renamed);
  let first = name;
  // A circle of names must not hang the engine, although manifests are checked.
  for (let step = 0; step <= before.length; step++) {
    const found = before.find(([, to]) => to === first);
    if (found === undefined) break;
    [first] = found;
  }
  return first;
}

/** The current name of a class, for a former name. */
export function nameNowOf({ renamed = {} }: ObjectClasses, name: string): string {
  let now = name;
  for (let step = 0; step <= Object.keys(renamed).length && Object.hasOwn(renamed, now); step++) now = renamed[now]!;
  return now;
}

/** First names of the classes of a deployment. */
export function keptClasses({ objects, objectClasses = {} }: DeclaredClasses): Set<string> {
  return new Set(Object.values(ownClasses(objects)).map((name) => firstNameOf(objectClasses, name)));
}

/** First names of the classes that a deployment deletes. */
export function deletedClasses({ objectClasses = {} }: DeclaredClasses): Set<string> {
  return new Set((objectClasses.deleted ?? []).map((name) => firstNameOf(objectClasses, name)));
}

/** First names of the classes that a deployment names as transferred. */
export function transferredClasses({ objectClasses = {} }: DeclaredClasses): Set<string> {
  return new Set(Object.keys(objectClasses.transferred ?? {}).map((name) => firstNameOf(objectClasses, name)));
}

/**
 * First names of classes that a deployment neither has nor deletes. @param known first names of classes of earlier
 * deployments.
 */
export function forgottenClasses(known: Iterable<string>, next: DeclaredClasses): string[] {
  const said = [keptClasses(next), deletedClasses(next), transferredClasses(next)];
  return [...new Set(known)].filter((first) => !said.some((names) => names.has(first))).toSorted();
}

/** How to keep or delete the objects of a class. @example 'Put the class back ...' */
export function classesAdvice(first: string): string {
  return (
    `Put the class back into "object" in platform.yaml, or add to "object_classes" either ` +
    `renamed: { ${first}: NewName } or deleted: [${first}], which deletes these objects.`
  );
}

/** A contradiction in the classes, with the key where it is. */
interface ClassesProblem {
  readonly path: readonly ['renamed' | 'transferred' | 'received', string] | readonly ['deleted', number];
  readonly message: string;
}

/**
 * What contradicts itself.
 *
 * @param own the classes that bindings name. @example problemsOf({ deleted: ['Room'] }, new Set(['Room']))[0].message
 * // 'The class Room is deleted, but a binding of "object" has it'
 */
export function classesProblems(
  { renamed = {}, deleted = [], transferred = {}, received = {} }: ObjectClasses,
  own: ReadonlySet<string>,
): ClassesProblem[] {
  const isSaid = (name: string): boolean => deleted.includes(name) || Object.hasOwn(transferred, name);
  const problems: ClassesProblem[] = [];
  const targets = new Map<string, string>();
  for (const [from, to] of Object.entries(renamed)) {
    const path = ['renamed', from] as const;
    const say = (message: string): void => void problems.push({ path, message });
    const other = targets.get(to);
    targets.set(to, from);
    if (isInCircle(renamed, from)) say(`The class ${from} is renamed to itself: a name cannot be used again`);
    else if (other !== undefined) say(`The classes ${other} and ${from} are both renamed to ${to}`);
    else if (own.has(from)) say(`The class ${from} is renamed to ${to}, but a binding of "object" has it`);
    else if (!own.has(to) && !Object.hasOwn(renamed, to) && !isSaid(to))
      say(`The class ${from} is renamed to ${to}, but no binding of "object" has that`);
  }
  for (const [index, name] of deleted.entries()) {
    const path = ['deleted', index] as const;
    const say = (message: string): void => void problems.push({ path, message });
    if (own.has(name)) say(`The class ${name} is deleted, but a binding of "object" has it`);
    else if (Object.hasOwn(renamed, name)) say(`The class ${name} is deleted, but renamed to ${renamed[name]!}`);
    else if (deleted.indexOf(name) !== index) say(`The class ${name} is deleted twice`);
  }
  for (const name of Object.keys(transferred)) {
    const say = (message: string): void => void problems.push({ path: ['transferred', name], message });
    if (own.has(name)) say(`The class ${name} is transferred, but a binding of "object" has it`);
    else if (Object.hasOwn(renamed, name)) say(`The class ${name} is transferred, but renamed to ${renamed[name]!}`);
    else if (deleted.includes(name)) say(`The class ${name} is transferred and deleted`);
  }
  const sources = new Map<string, string>();
  for (const [name, source] of Object.entries(received)) {
    const say = (message: string): void => void problems.push({ path: ['received', name], message });
    const now = nameNowOf({ renamed }, name);
    const [other, twin] = [sources.get(source), sources.get(now)];
    sources.set(source, name).set(now, name);
    const shown = source.replace('#', '/');
    if (twin !== undefined) say(`The classes ${twin} and ${name} are the same, and both receive objects`);
    else if (other !== undefined) say(`The classes ${other} and ${name} both receive the objects of ${shown}`);
    else if (Object.hasOwn(transferred, now))
      say(`The class ${name} is received and transferred: let ${shown.split('/')[0]} transfer it to its new project`);
    else if (!own.has(now))
      say(`The class ${name} receives the objects of ${shown}, but no binding of "object" has it`);
  }
  return problems;
}

function isInCircle(renamed: Readonly<Record<string, string>>, from: string): boolean {
  let now = from;
  for (let step = 0; step <= Object.keys(renamed).length && Object.hasOwn(renamed, now); step++) {
    now = renamed[now]!;
    if (now === from) return true;
  }
  return false;
}
