// The parts of the platform that one supervisor runs (`PLATFORM_PARTS`), so that they can run separately, in
// containers or on several machines. Dependencies on parts that run elsewhere are checked here by name, before any part
// starts.

import { artifactVariables } from '#core/s3/bucket-variables.ts';
import { migrationsExecutorFrom } from '#core/migrations-executor.ts';
import { isHttpsOn } from '#core/public-https.ts';
import { MAKE_SECRETS, weakSecrets } from '#core/process/secret-variables.ts';

/**
 * Valid names in `PLATFORM_PARTS`. By default, all parts run, but the last parts of the list only with certain
 * variables.
 */
const names = [
  'handler',
  'databases',
  'broker',
  'api',
  'builder',
  'migrator',
  'sandbox',
  'web',
  'edge',
  'servers',
  'backups',
  'mirror',
] as const;
/** Parts that no other part depends on. */
const ASIDE: readonly Part[] = ['migrator', 'sandbox', 'edge', 'servers', 'backups', 'mirror'];

/** One part of the platform. */
type Part = (typeof names)[number];

/** The parts of one supervisor. */
export interface Parts {
  has(part: Part): boolean;
  /** Whether `PLATFORM_PARTS` is set, so that only the named parts run. */
  readonly isChosen: boolean;
}

type Environment = Readonly<Record<string, string | undefined>>;

const TOKEN_CHARS_MIN = 16;
const SAME_FOR_ALL = `run \`${MAKE_SECRETS}\`, and give all parts the same .env`;

/**
 * Parses `PLATFORM_PARTS`.
 *
 * @throws {Error} with a line for each problem.
 * @example partsFrom({ PLATFORM_PARTS: 'broker,databases', ... }).has('broker') // true
 */
export function partsFrom(environment: Environment): Parts {
  const get = (name: string): string => environment[name]?.trim() ?? '';
  const text = get('PLATFORM_PARTS');
  if (text === '') return { has: () => true, isChosen: false };
  const chosen = new Set(
    text
      .split(',')
      .map((word) => word.trim())
      .filter((word) => word !== ''),
  );
  const unknown = [...chosen].filter((word) => !(names as readonly string[]).includes(word));
  if (unknown.length > 0 || chosen.size === 0)
    throw new Error(`PLATFORM_PARTS must be a comma-separated list of ${names.join(', ')}, but is "${text}"`);
  const has = (part: Part): boolean => chosen.has(part);
  const missing = (name: string, why: string): string[] => (get(name) === '' ? [`${name} is not set: ${why}`] : []);
  const secret = (name: string, why: string): string[] =>
    get(name).length >= TOKEN_CHARS_MIN
      ? []
      : [`${name} must have at least ${TOKEN_CHARS_MIN} characters: ${why}; ${SAME_FOR_ALL}`];
  const isAlone = names.some((name) => !ASIDE.includes(name) && !has(name));
  const asksHandlers = (has('api') || has('broker')) && !has('handler');
  const isAsked = has('handler') && !(has('api') && has('broker'));
  const hasBucket = Object.keys(artifactVariables(environment)).length > 0;
  const needsOwner = has('api') || has('broker') || has('builder') || has('migrator') || has('backups');
  const problems = [
    ...(has('handler') || has('servers') || needsOwner
      ? missing('FS_PATH', 'name the folder that all parts share')
      : []),
    ...(asksHandlers || isAsked
      ? secret('PRIVATE_PORT_TOKEN', 'the API, the broker and the handlers know each other by it')
      : []),
    ...(isAlone && needsOwner
      ? missing('DATABASE_URL', 'an embedded Postgres serves the parts of one supervisor only; name one that all reach')
      : []),
    ...(has('handler') && !needsOwner && get('DATABASE_URL') === ''
      ? missing(
          'ENGINE_DATABASE_URL',
          'name the Postgres as engines see it (user platform_engine); DATABASE_URL=none does without',
        )
      : []),
    ...(has('handler') && !has('databases')
      ? [
          ...missing('DB_URL', 'set it to the address of the database service, such as http://internal'),
          ...secret('DB_SERVICE_TOKEN', 'handlers and the database service know each other by it'),
        ]
      : []),
    ...(has('migrator') && !has('databases') && !has('handler')
      ? [
          ...missing('DB_URL', 'set it to the address of the database service, such as tcp://internal:80'),
          ...secret('DB_SERVICE_TOKEN', 'the migrator and the database service know each other by it'),
        ]
      : []),
    // Without these parts, no process uses the migrator, so the variable does not matter.
    ...(has('migrator') && chosen.size === 1 && migrationsExecutorFrom(environment) !== 'migrator'
      ? ['DB_MIGRATIONS_EXECUTOR must be migrator: set it for the migrator, the API and the handlers']
      : []),
    ...(has('sandbox') && !needsOwner
      ? [
          ...missing('FS_PATH', 'disks of sandboxes lie in its folder sandboxes'),
          ...missing(
            'SANDBOX_DATABASE_URL',
            'name the Postgres as the sandbox service sees it (user platform_sandbox)',
          ),
        ]
      : []),
    ...(has('databases') && !has('handler')
      ? [
          ...missing('DB_SERVICE_PORT', 'the port that handlers reach the database service on'),
          ...secret('DB_SERVICE_TOKEN', 'handlers and the database service know each other by it'),
        ]
      : []),
    ...(has('edge') && !has('handler')
      ? [
          ...(get('DATABASE_URL') === ''
            ? missing(
                'EDGE_HANDLERS',
                'name the handlers, such as handler:4001, with commas between several, or set DATABASE_URL, where they announce themselves',
              )
            : []),
          ...secret('EDGE_TOKEN', 'handlers and the API know by it what comes over the edge'),
        ]
      : []),
    ...(isHttpsOn(get('PUBLIC_HTTPS')) && !has('edge') && (has('handler') || has('api'))
      ? secret('EDGE_TOKEN', 'PUBLIC_HTTPS is on, and this secret identifies requests that come through the edge')
      : []),
    ...(has('web') && !has('api') && get('UI_PORT').toLowerCase() !== 'off'
      ? missing(
          'WEB_API_URL',
          'where the API listens for the web process, such as http://api:4003 (API_WEB_LISTEN there)',
        )
      : []),
    ...(has('servers') && !has('handler')
      ? missing('SSR_SOCKETS_DIR', 'name the folder of sockets that it shares with the handlers, such as /run/servers')
      : []),
    ...(has('mirror') && (hasBucket || chosen.size === 1)
      ? [
          ...missing('FS_PATH', 'name the folder of this machine'),
          ...(hasBucket ? [] : ['ARTIFACTS_S3_BUCKET is not set: the mirror fetches artifacts from there']),
          ...(get('DATABASE_URL') === ''
            ? missing('ENGINE_DATABASE_URL', 'the mirror reads routes from Postgres (user platform_engine)')
            : []),
          ...secret('PRIVATE_PORT_TOKEN', 'routes are sealed with it'),
        ]
      : []),
    ...(has('handler') && hasBucket && !has('mirror')
      ? [
          'ARTIFACTS_S3_* is set, but no mirror updates the routes here: add mirror to PLATFORM_PARTS, or leave ARTIFACTS_S3_* to the mirror of this machine',
        ]
      : []),
    ...(get('BACKUP_CRON') !== '' && !has('backups')
      ? [
          'BACKUP_CRON is set, but no process creates backups here: add backups to PLATFORM_PARTS on the machine with all data',
        ]
      : []),
    ...(has('databases') && get('FS_PATH') === '' ? missing('DB_STORAGE_DIR', 'the folder of project databases') : []),
    ...weakSecrets(environment),
  ];
  if (problems.length > 0) throw new Error(problems.join('\n'));
  return { has, isChosen: true };
}
