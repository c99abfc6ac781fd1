// The key `object` of platform.yaml: durable objects, by binding names and classes that the worker exports. Not one of
// the kinds of kinds.ts: its resources are instances of the worker's own code.
import { bindingName, EXPECTS_NAMES } from './schemas.ts';

const className = {
  type: 'string',
  pattern: '^[A-Za-z_$][A-Za-z0-9_$]{0,63}$',
  expects: 'the name of a class that the worker exports, such as ChatRoom',
} as const;

export const object = {
  schema: {
    type: 'object',
    description: 'Durable objects: classes that the worker exports.',
    patternProperties: {
      [bindingName.pattern]: {
        anyOf: [
          className,
          {
            type: 'object',
            additionalProperties: false,
            required: ['class'],
            properties: { class: className, project: { type: 'string', description: 'Not supported yet.' } },
          },
        ],
        expects: 'the name of a class that the worker exports, or a map with the key "class"',
      },
    } as {
      readonly '^[A-Z][A-Z0-9_]{0,63}$': {
        readonly anyOf: readonly [
          typeof className,
          {
            readonly type: 'object';
            readonly additionalProperties: false;
            readonly required: readonly ['class'];
            readonly properties: {
              readonly class: typeof className;
              readonly project: { readonly type: 'string'; readonly description: 'Not supported yet.' };
            };
          },
        ];
        readonly expects: string;
      };
    },
    additionalProperties: false,
    expects: 'a map from binding names to classes, such as "ROOM: ChatRoom"',
    expectsNames: EXPECTS_NAMES,
  },
  otherNames: ['objects', 'durable_object', 'durable_objects'],
  type: 'DurableObjectNamespace',
  label: 'Durable objects of the class',
  /** As of the kinds in kinds.ts. */
  reads: ['object.list', 'object.get', 'object.values', 'object.query'],
  page: { path: 'objects', title: 'Objects', one: 'object binding', area: 'storage' },
} as const;

/** Whether a manifest may name it as a class. */
export function isClassName(name: string): boolean {
  return new RegExp(className.pattern).test(name);
}

/** The class of a declared binding. */
export function classOf(value: string | { readonly class: string }): string {
  return typeof value === 'string' ? value : value.class;
}
