// The key `object` of platform.yaml: durable objects, by binding names and classes that the worker exports. This kind
// is not in kinds.ts, because its resources are instances of the worker's own code.
import { bindingName, EXPECTS_NAMES } from './schemas.ts';
import { calledByPreviews, isServiceText, parseServiceTarget, projectName, serviceText } from './service.ts';
import type { ServiceTarget } from './service.ts';

/** Name of a class, in schemas. */
export const className = {
  type: 'string',
  pattern: '^(?!__proto__$)[A-Za-z_$][A-Za-z0-9_$]{0,63}$',
  expects: 'the name of a class that the worker exports, such as ChatRoom',
} as const;

const written = {
  anyOf: [
    className,
    {
      type: 'object',
      additionalProperties: false,
      required: ['class'],
      properties: {
        class: className,
        project: { ...projectName, description: 'The project that has the class. Default: this one.' },
        previews: calledByPreviews,
      },
    },
  ],
  expects: 'the name of a class that the worker exports, or a map with the key "class"',
} as const;

export const object = {
  schema: {
    type: 'object',
    description: 'Durable objects: classes that this worker, or the worker of another project, exports.',
    patternProperties: { [bindingName.pattern]: written } as {
      readonly [Pattern in typeof bindingName.pattern]: typeof written;
    },
    additionalProperties: false,
    expects: 'a map from binding names to classes, such as "ROOM: ChatRoom"',
    expectsNames: EXPECTS_NAMES,
  },
  otherNames: ['objects', 'durable_object', 'durable_objects'],
  type: 'DurableObjectNamespace',
  label: 'Durable objects of the class',
  /** Read-only operations, as for the kinds in kinds.ts. */
  reads: ['object.list', 'object.get', 'object.values', 'object.query', 'object.held'],
  page: { path: 'objects', title: 'Objects', one: 'object binding', area: 'storage' },
} as const;

/** Whether a text is the name of a class. */
export function isClassName(name: string): boolean {
  return new RegExp(className.pattern).test(name);
}

/** A class as platform.yaml declares it. */
type WrittenObject =
  | string
  | { readonly class: string; readonly project?: string; readonly previews?: 'branch' | 'production' };

/** Target of an object binding. */
interface ObjectTarget {
  readonly class: string;
  /** The project that has the class; null means this project. */
  readonly owner: Pick<ServiceTarget, 'project' | 'previews'> | null;
}

/**
 * A class in a manifest, as one text.
 *
 * @example objectText({ class: 'ChatRoom', project: 'rooms' }); // 'rooms#ChatRoom'
 */
export function objectText(value: WrittenObject): string {
  if (typeof value === 'string') return value;
  const { class: entrypoint, project, previews } = value;
  if (project === undefined) return entrypoint;
  return serviceText({ project, entrypoint, ...(previews === undefined ? {} : { previews }) });
}

/** Whether a text of a manifest is a class, of this project or of another. */
export function isObjectText(text: string): boolean {
  const [first, name] = text.replace(/\?production$/, '').split('#');
  return name === undefined ? isClassName(text) : isServiceText(`${first}#${name}`) && isClassName(name);
}

/** The class in a manifest's text. */
export function parseObject(text: string): ObjectTarget {
  if (!text.includes('#')) return { class: text, owner: null };
  const { project, entrypoint, previews } = parseServiceTarget(text);
  return { class: entrypoint!, owner: { project, previews } };
}

/** The classes of a manifest that its own worker exports, by binding name. */
export function ownClasses(objects: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(objects).filter(([, text]) => parseObject(text).owner === null));
}

/** Projects whose objects a manifest uses, by binding name. */
export function objectOwners(objects: Readonly<Record<string, string>> = {}): (readonly [string, string])[] {
  return Object.entries(objects).flatMap(([binding, text]) => {
    const { owner } = parseObject(text);
    return owner === null ? [] : [[binding, owner.project] as const];
  });
}
