// The kind `service`: workers of other projects of the organization, called by their methods or with `fetch`.
import type { BindingDescriptor } from './descriptor.ts';
import { bindingName, EXPECTS_NAMES } from './schemas.ts';

const EXPECTS = 'the name of a project, or a map such as {project: auth, entrypoint: Admin}';
export const projectName = { type: 'string', pattern: '^[a-z0-9][a-z0-9-]{0,62}$', expects: EXPECTS } as const;

export const calledByPreviews = {
  enum: ['branch', 'production'],
  description:
    'Deployment that a preview calls. `branch`: the same branch of the other project if it has one, else production.',
} as const;

const targetSchema = {
  anyOf: [
    projectName,
    {
      type: 'object',
      additionalProperties: false,
      required: ['project'],
      properties: {
        project: projectName,
        entrypoint: {
          type: 'string',
          pattern: '^[A-Za-z_$][\\w$]{0,99}$',
          description:
            'A class or an object that the worker exports by this name. Default: the default export of the worker.',
          expects: 'the name of an export',
        },
        previews: calledByPreviews,
      },
    },
  ],
  expects: EXPECTS,
} as const;

export const service = {
  schema: {
    type: 'object',
    description: 'Workers of other projects.',
    patternProperties: { [bindingName.pattern]: targetSchema } as {
      readonly [Pattern in typeof bindingName.pattern]: typeof targetSchema;
    },
    additionalProperties: false,
    expects: 'a map from binding names to projects, such as "AUTH: auth"',
    expectsNames: EXPECTS_NAMES,
  },
  otherNames: ['services'],
  type: 'Service',
  label: 'Workers of other projects',
  module: 'service',
  // `connect` takes `{binding, socket, method}`, with a frame of the session as a part, and returns nothing when the
  // session is over. `fetch` takes `{binding}` and the arguments of fetch, and returns the same as fetch.
  calls: ['connect', 'fetch'],
  methods: ['fetch', 'connect'],
  isPlain: false,
  ofPreview: 'resource',
  isMeasured: false,
  reads: [],
  wrangler: null,
  page: { path: 'services', title: 'Services', one: 'service binding', area: null },
  storage: null,
} as const satisfies BindingDescriptor;

/** Target of a service binding. */
export interface ServiceTarget {
  readonly project: string;
  /** Null means the default export. */
  readonly entrypoint: string | null;
  /** What previews call. */
  readonly previews: 'branch' | 'production';
}

/** A target as platform.yaml declares it. */
export type WrittenService =
  | string
  | { readonly project: string; readonly entrypoint?: string; readonly previews?: 'branch' | 'production' };

/**
 * A target in a manifest, as one text.
 *
 * @example serviceText({ project: 'auth', entrypoint: 'Admin' }); // 'auth#Admin'
 */
export function serviceText(written: WrittenService): string {
  if (typeof written === 'string') return written;
  const { project, entrypoint, previews } = written;
  return `${project}${entrypoint === undefined || entrypoint === 'default' ? '' : `#${entrypoint}`}${previews === 'production' ? '?production' : ''}`;
}

/** Whether a text of a manifest is a target. */
export function isServiceText(text: string): boolean {
  return /^[a-z0-9][a-z0-9-]{0,62}(?:#[A-Za-z_$][\w$]{0,99})?(?:\?production)?$/.test(text);
}

/** The target in a manifest's text. */
export function parseServiceTarget(text: string): ServiceTarget {
  const previews = text.endsWith('?production') ? 'production' : 'branch';
  const [project, entrypoint] = text.replace(/\?production$/, '').split('#');
  return { project: project!, entrypoint: entrypoint ?? null, previews };
}
