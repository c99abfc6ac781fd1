// The only definition of platform.yaml (docs/platform-yaml.md): a JSON Schema literal. The parser (schema-check.ts)
// walks it, the TypeScript type is inferred from it, docs/platform.schema.json is printed from it. Keys of bindings
// come from bindings/. TypeBox is imported for its types only: no command waits for the rest.
import { bindings, schemasOf } from '../bindings/kinds.ts';
import { object } from '../bindings/object.ts';
import { objectClasses } from '../bindings/object-classes.ts';
import { defaultReleaseSettings, releaseRules } from '../release-settings.ts';
import type { XStatic } from '../typebox/typebox.mjs';

const onOff = { enum: ['on', 'off'] } as const;

const relativePath = { type: 'string', minLength: 1, expects: 'a relative path inside the repository' } as const;

const errorPagePath = {
  type: 'string',
  pattern: '^/[^?#]{1,999}$',
  expects: 'the path of an HTML file, such as "/500.html"',
} as const;

const schema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    name: {
      type: 'string',
      pattern: '^(?=.{1,40}$)[a-z0-9](?:-?[a-z0-9])*$',
      description: 'Name of the project, the first part of its host.',
      expects: 'a project name (lower-case letters, digits and single hyphens between them, at most 40)',
    },
    kind: {
      enum: ['static', 'ssr', 'dynamic', 'worker'],
      description:
        'What the project is; found out from its files when left out. `worker` is another word for `dynamic`.',
    },
    main: { ...relativePath, description: 'Entry file of the worker, relative to `base`.' },
    build: { type: 'string', description: 'Shell command that produces the output.', expects: 'a shell command' },
    out: { ...relativePath, description: 'Output directory, relative to `base`.' },
    base: { ...relativePath, description: 'Directory of the project inside the repository.' },
    assets: {
      type: 'object',
      description: 'How static files of a dynamic project are served.',
      additionalProperties: false,
      properties: {
        binding: {
          type: 'string',
          pattern: '^[A-Z_]{1,64}$',
          description: 'Name under which the worker sees the asset fetcher.',
          expects: 'a name of upper-case letters and underscores, at most 64',
        },
        not_found_handling: {
          enum: ['none', '404-page', 'single-page-application'],
          default: 'none',
          description: 'Response for paths without a file.',
        },
        run_worker_first: {
          anyOf: [
            { type: 'boolean' },
            {
              type: 'array',
              maxItems: 100,
              items: {
                type: 'string',
                pattern: '^!?/.*$',
                expects: 'a route pattern that starts with "/" (or "!/" to exclude), such as "/api/*"',
              },
            },
          ],
          default: false,
          description: 'Requests that go to the worker before the files: all, none, or those that match; `!` excludes.',
          expects: 'true, false or a list of route patterns',
        },
        error_pages: {
          type: 'object',
          description: 'Files that browsers get for errors of the platform, by status.',
          additionalProperties: false,
          properties: {
            404: errorPagePath,
            500: errorPagePath,
            502: errorPagePath,
            503: errorPagePath,
            504: errorPagePath,
          },
        },
      },
    },
    agentSDK: { type: 'boolean', default: false, description: 'Adds the bindings of the agent library.' },
    skew_protection: {
      type: 'boolean',
      default: true,
      description: 'Keeps the requests of a page on the deployment that served it.',
    },
    compatibility_date: {
      type: 'string',
      pattern: '^\\d{4}-\\d{2}-\\d{2}$',
      description: 'Date of the runtime behaviour that the worker expects, from 2023-01-01 to today (UTC).',
      expects: 'a date in quotes, such as "2026-01-31"',
    },
    compatibility_flags: {
      type: 'array',
      maxItems: 100,
      description: 'Runtime flags, such as `nodejs_compat`.',
      items: { type: 'string', pattern: '^[a-z0-9][a-z0-9_.:-]{0,99}$', expects: 'a flag such as "nodejs_compat"' },
      expects: 'a list of flags, such as ["nodejs_compat"]',
    },
    dev: {
      type: 'object',
      description: 'Where `platform dev` listens; flags of the command win.',
      additionalProperties: false,
      properties: {
        port: { type: 'integer', minimum: 1, maximum: 65535, default: 3000, expects: 'a whole number from 1 to 65535' },
        host: {
          type: 'string',
          pattern: '^[A-Za-z0-9.:_-]{1,253}$',
          default: 'localhost',
          expects: 'a host name or address',
        },
      },
    },
    ...schemasOf(bindings),
    previews: {
      type: 'object',
      description: 'Settings of previews.',
      additionalProperties: false,
      properties: {
        db: {
          enum: ['copy', 'empty'],
          default: 'copy',
          description: "Whether their databases begin as copies of production's, or with migrations only.",
        },
        cron: { ...onOff, default: 'off', description: 'Whether schedules run in the newest deployment of a branch.' },
        queue: { ...onOff, default: 'on', description: 'Whether messages are delivered; they wait otherwise.' },
        timer: { ...onOff, default: 'on', description: 'Whether timers fire; they wait otherwise.' },
      },
      expects: 'a map with the keys "db", "cron", "queue" and "timer", such as {db: empty, cron: on}',
    },
    release: {
      type: 'object',
      description: 'Releases production deployments in steps, and rolls back if one is worse than the previous one.',
      additionalProperties: false,
      properties: {
        steps: {
          type: 'array',
          maxItems: releaseRules.stepsMax,
          default: defaultReleaseSettings.steps,
          description: 'Percentages of the visitors; the last is 100. `[100]` releases at once.',
          items: {
            type: 'integer',
            minimum: releaseRules.percentMin,
            maximum: releaseRules.percentMax,
            expects: 'a whole number of percent from 1 to 100',
          },
          expects: 'a list of percentages, such as [5, 25, 100]',
        },
        minutes: {
          type: 'integer',
          minimum: releaseRules.minutesMin,
          maximum: releaseRules.minutesMax,
          default: defaultReleaseSettings.minutes,
          description: 'Duration of each step.',
          expects: 'a whole number of minutes from 1 to 240',
        },
        errors: {
          type: 'string',
          pattern: releaseRules.errors,
          default: defaultReleaseSettings.errors,
          description: 'How many more requests may fail than before, in percentage points.',
          expects: 'a percentage from 0% to 100%, such as 1%',
        },
        p99: {
          type: 'string',
          pattern: releaseRules.factor,
          default: defaultReleaseSettings.p99,
          description: 'Limit of the p99 of the time to first byte, relative to before.',
          expects: 'a factor from 1x to 99.99x, such as 1.5x',
        },
        cpu: {
          type: 'string',
          pattern: releaseRules.factor,
          default: defaultReleaseSettings.cpu,
          description: 'Limit of the CPU per request, relative to before.',
          expects: 'a factor from 1x to 99.99x, such as 2x',
        },
      },
      expects:
        'a map with the keys "steps", "minutes", "errors", "p99" and "cpu", such as {steps: [5, 25, 100], minutes: 5}',
    },
    ai: { type: 'boolean', default: false, description: 'Adds the AI binding and its variables.' },
    object: object.schema,
    object_classes: objectClasses.schema,
    cron: {
      type: 'object',
      description: 'Schedules that call the `scheduled` handler of the worker.',
      patternProperties: {
        '^[A-Z][A-Z0-9_]{0,63}$': {
          anyOf: [
            { type: 'string', expects: 'a schedule such as "*/5 * * * *"' },
            {
              type: 'object',
              additionalProperties: false,
              required: ['schedule'],
              properties: {
                schedule: { type: 'string', expects: 'a schedule such as "*/5 * * * *"' },
                timezone: { type: 'string', default: 'UTC', expects: 'a time zone such as "Europe/Berlin"' },
                overlap: {
                  enum: ['skip', 'queue'],
                  default: 'skip',
                  description: 'Whether a run starts while the previous one is still running.',
                },
              },
            },
          ],
          expects: 'a schedule such as "*/5 * * * *", or a map with the key "schedule"',
        },
      },
      additionalProperties: false,
      expects: 'a map from names to schedules, such as CLEANUP: "0 3 * * *"',
      expectsNames: 'a name (upper-case letters, digits and underscores, starting with a letter, at most 64)',
    },
  },
} as const;

/** The content of platform.yaml without defaults: every key is optional. */
export type ProjectFile = XStatic<typeof schema>;

/** The part of the definition that the parser uses. */
export const projectFileSchema = schema;

/** Keywords that only our parser knows: the phrases after "must be" in its messages. */
const PARSER_ONLY = new Set(['expects', 'expectsNames']);

/**
 * The JSON Schema of platform.yaml for editors, as in docs/platform.schema.json.
 *
 * @example `# yaml-language-server: $schema=platform.schema.json` as the first line of platform.yaml
 */
export function projectConfigSchema(): Record<string, unknown> {
  const published = JSON.parse(
    JSON.stringify(schema, (key, value) => (PARSER_ONLY.has(key) ? undefined : value)),
  ) as object;
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'platform.yaml',
    description: 'Configuration of a project of the platform.',
    ...published,
    // Static projects need a build command.
    anyOf: [
      { properties: { kind: { enum: schema.properties.kind.enum.filter((kind) => kind !== 'static') } } },
      { required: ['build'] },
    ],
  };
}
