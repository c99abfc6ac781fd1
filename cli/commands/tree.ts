// The tree of commands, loaded lazily. main.ts dispatches by it; help and shell completion are generated from it.
import type { Entry, Group, Leaf } from '../terminal/entries.ts';

const deploymentCommands: Readonly<Record<string, Entry>> = {
  list: {
    summary: 'List the deployments, newest first',
    aliases: ['ls'],
    load: () => import('./deployments/list.ts'),
  },
  view: { summary: 'Show a deployment', load: () => import('./deployments/view.ts') },
  logs: { summary: 'Show build logs', load: () => import('./deployments/logs.ts') },
  cancel: { summary: 'Cancel a deployment in progress', load: () => import('./deployments/cancel.ts') },
  retry: {
    summary: 'Redeploy a commit or artifact',
    aliases: ['redeploy'],
    load: () => import('./deployments/retry.ts'),
  },
};

const environmentCommands: Readonly<Record<string, Entry>> = {
  list: { summary: 'List the variables', aliases: ['ls'], load: () => import('./env/list.ts') },
  set: { summary: 'Set variables', load: () => import('./env/set.ts') },
  unset: { summary: 'Remove variables', aliases: ['rm'], load: () => import('./env/unset.ts') },
  pull: { summary: 'Write the variables to a file', load: () => import('./env/pull.ts') },
  push: { summary: 'Set all variables of a file', load: () => import('./env/push.ts') },
};

const projectCommands: Readonly<Record<string, Entry>> = {
  list: { summary: 'List the projects', aliases: ['ls'], load: () => import('./projects/list.ts') },
  create: { summary: 'Create a project', load: () => import('./projects/create.ts') },
  delete: { summary: 'Delete a project', load: () => import('./projects/delete.ts') },
  settings: { summary: 'Show or change the settings of a project', load: () => import('./projects/settings.ts') },
};

const organizationCommands: Readonly<Record<string, Entry>> = {
  list: { summary: 'List your organizations', aliases: ['ls'], load: () => import('./org/list.ts') },
  create: { summary: 'Create an organization', load: () => import('./org/create.ts') },
  members: { summary: 'List, invite, change or remove members', load: () => import('./org/members.ts') },
  storage: {
    summary: 'Storage usage: show; data of deleted projects: delete',
    byDefault: 'show',
    commands: {
      show: { summary: 'Show storage usage', load: () => import('./org/show-storage.ts') },
      delete: { summary: 'Remove the data of a deleted project now', load: () => import('./org/delete-storage.ts') },
    },
  },
};

const databaseCommands: Readonly<Record<string, Entry>> = {
  list: { summary: 'List the databases', aliases: ['ls'], load: () => import('./db/list.ts') },
  tables: { summary: 'List tables and views', load: () => import('./db/tables.ts') },
  query: { summary: 'Run a statement', load: () => import('./db/query.ts') },
  import: { summary: 'Import an SQL or SQLite file into a database', load: () => import('./db/import.ts') },
  'import-libsql': { summary: 'Import a database of a libSQL server', load: () => import('./db/import-libsql.ts') },
  export: { summary: 'Write a copy of a database into a file', load: () => import('./db/export.ts') },
  restore: {
    summary: 'Restore a moment of a database into a copy, or in place',
    load: () => import('./db/restore.ts'),
  },
  migrate: { summary: 'Apply pending migrations', load: () => import('./db/migrate.ts') },
  move: { summary: 'Move the databases of a project to another machine', load: () => import('./db/move.ts') },
  insights: { summary: 'Count the rows of each table', load: () => import('./db/insights.ts') },
};

const startCommands: Readonly<Record<string, Entry>> = {
  init: { summary: 'Start a project from a template', load: () => import('./init.ts') },
  dev: { summary: 'Serve this project locally, with hot reload', load: () => import('./dev.ts') },
  build: { summary: 'Build this project into an artifact', load: () => import('./build.ts') },
  types: { summary: 'Generate the types of env from platform.yaml', load: () => import('./types.ts') },
  vite: {
    summary: 'Run Vite with configuration from platform.yaml: build, dev',
    commands: {
      build: { summary: 'Build with Vite', forwards: true, load: () => import('./vite/build.ts') },
      dev: {
        summary: 'Serve with Vite, the worker in its isolate',
        forwards: true,
        load: () => import('./vite/dev.ts'),
      },
      engine: { summary: 'The engine behind the Vite plugin, which starts it', load: () => import('./vite/engine.ts') },
    },
  },
  import: { summary: 'Convert a Wrangler configuration to platform.yaml', load: () => import('./import.ts') },
  login: { summary: 'Log in to a platform', load: () => import('./login.ts') },
  logout: { summary: 'Log out of a platform', load: () => import('./logout.ts') },
  whoami: { summary: 'Show who you are to the platform', load: () => import('./whoami.ts') },
  auth: { summary: 'Log in and out', load: () => import('./auth.ts') },
  link: { summary: 'Link this folder to a project of a platform', load: () => import('./link.ts') },
  unlink: { summary: 'Unlink this folder', load: () => import('./unlink.ts') },
  completion: { summary: 'Print a shell completion script', load: () => import('./completion.ts') },
};

const deployCommands: Readonly<Record<string, Entry>> = {
  deploy: { summary: 'Build this project and publish it', load: () => import('./deploy.ts') },
  deployments: {
    summary: 'Deployments of this project: list, view, logs, cancel, retry',
    byDefault: 'list',
    commands: deploymentCommands,
  },
  promote: { summary: 'Promote a deployment to production', load: () => import('./promote.ts') },
  rollback: { summary: 'Roll back to the previous production deployment', load: () => import('./rollback.ts') },
  env: {
    summary: 'Variables of this project: list, set, unset, pull, push',
    byDefault: 'list',
    commands: environmentCommands,
  },
  domains: {
    summary: 'Custom domains: list, add, rm, verify',
    byDefault: 'list',
    commands: {
      list: { summary: 'List the custom domains', aliases: ['ls'], load: () => import('./domains/list.ts') },
      add: { summary: 'Add a custom domain', load: () => import('./domains/add.ts') },
      rm: { summary: 'Remove a custom domain', load: () => import('./domains/remove.ts') },
      verify: { summary: 'Verify a custom domain', load: () => import('./domains/verify.ts') },
    },
  },
};

const observeCommands: Readonly<Record<string, Entry>> = {
  open: { summary: 'Open this project in the browser', load: () => import('./open.ts') },
  logs: { summary: 'Show the logs of this project', load: () => import('./logs.ts') },
  analytics: { summary: 'Show requests, failures and latency of this project', load: () => import('./analytics.ts') },
  drains: {
    summary: 'Log drains: list, add, rm, test',
    byDefault: 'list',
    commands: {
      list: { summary: 'List the log drains', aliases: ['ls'], load: () => import('./drains/list.ts') },
      add: { summary: 'Forward logs by HTTP or to an S3 bucket', load: () => import('./drains/add.ts') },
      rm: { summary: 'Delete a log drain', load: () => import('./drains/remove.ts') },
      test: { summary: 'Send a test line to a log drain', load: () => import('./drains/test.ts') },
    },
  },
  'git-hosts': {
    summary: 'Git hosts: list, add, rm, check, connect',
    byDefault: 'list',
    commands: {
      list: { summary: 'List the Git hosts and accounts', aliases: ['ls'], load: () => import('./git-hosts/list.ts') },
      add: { summary: 'Add a Git host', load: () => import('./git-hosts/add.ts') },
      rm: { summary: 'Remove a Git host', load: () => import('./git-hosts/remove.ts') },
      check: { summary: 'Show the problems of a Git host', load: () => import('./git-hosts/check.ts') },
      oauth: { summary: 'Set the OAuth application of a Git host', load: () => import('./git-hosts/oauth.ts') },
      connect: { summary: 'Connect an account by an access token', load: () => import('./git-hosts/connect.ts') },
    },
  },
  collector: {
    summary: 'Collector for spans of this project: show, set, rm',
    byDefault: 'show',
    commands: {
      show: { summary: 'Show the collector and delivery counts', load: () => import('./collector/show.ts') },
      set: { summary: 'Send spans to a collector', load: () => import('./collector/set.ts') },
      rm: { summary: 'Remove the collector', load: () => import('./collector/remove.ts') },
    },
  },
};

const dataCommands: Readonly<Record<string, Entry>> = {
  db: {
    summary: 'Databases: list, tables, query, import, import-libsql, export, restore, migrate, insights',
    byDefault: 'list',
    commands: databaseCommands,
  },
  state: {
    summary: 'State of this project: list, get, put, delete',
    commands: {
      list: { summary: 'List keys', aliases: ['ls'], load: () => import('./state/list.ts') },
      get: { summary: 'Print an entry', load: () => import('./state/get.ts') },
      put: { summary: 'Write an entry', aliases: ['set'], load: () => import('./state/put.ts') },
      delete: { summary: 'Delete an entry', aliases: ['rm'], load: () => import('./state/delete.ts') },
    },
  },
  objects: {
    summary: 'Durable objects: list, get, sql, delete, reset',
    byDefault: 'list',
    commands: {
      list: { summary: 'List the objects of a class', aliases: ['ls'], load: () => import('./objects/list.ts') },
      get: { summary: 'Show an object with its keys', load: () => import('./objects/get.ts') },
      sql: { summary: "Run SQL on an object's database", load: () => import('./objects/sql.ts') },
      delete: { summary: 'Delete the data of an object', aliases: ['rm'], load: () => import('./objects/delete.ts') },
      reset: { summary: 'End the instance in memory', load: () => import('./objects/reset.ts') },
    },
  },
  fs: {
    summary: 'Files of this project: ls, cat, put, rm',
    commands: {
      ls: { summary: 'List files and folders', aliases: ['list'], load: () => import('./fs/list.ts') },
      cat: { summary: 'Print a file', aliases: ['get'], load: () => import('./fs/cat.ts') },
      put: { summary: 'Write a file', load: () => import('./fs/put.ts') },
      rm: { summary: 'Delete a file', aliases: ['delete'], load: () => import('./fs/remove.ts') },
    },
  },
  queue: {
    summary: 'Queues of this project: stats, dead, redrive',
    byDefault: 'stats',
    commands: {
      stats: { summary: 'Show message counts of queues', load: () => import('./queue/stats.ts') },
      dead: { summary: 'List dead letters', load: () => import('./queue/dead.ts') },
      redrive: { summary: 'Redeliver dead letters', load: () => import('./queue/redrive.ts') },
    },
  },
  cron: {
    summary: 'Schedules of this project: list, run',
    byDefault: 'list',
    commands: {
      list: { summary: 'List schedules', aliases: ['ls'], load: () => import('./cron/list.ts') },
      run: { summary: 'Run a schedule now', load: () => import('./cron/run.ts') },
    },
  },
  sandbox: {
    summary: 'Sandboxes of this project: create, exec, shell, files, snapshots, ports',
    byDefault: 'list',
    commands: {
      list: { summary: 'List sandboxes', load: () => import('./sandbox/list.ts') },
      info: { summary: 'Show a sandbox', load: () => import('./sandbox/show.ts') },
      create: { summary: 'Create a sandbox, or change its size and image', load: () => import('./sandbox/create.ts') },
      exec: { summary: 'Run a command in a sandbox', load: () => import('./sandbox/exec.ts') },
      shell: { summary: 'Open a terminal in a sandbox', load: () => import('./sandbox/shell.ts') },
      read: { summary: 'Print a file', aliases: ['cat'], load: () => import('./sandbox/read.ts') },
      write: { summary: 'Write a file', aliases: ['put'], load: () => import('./sandbox/write.ts') },
      ls: { summary: 'List files', load: () => import('./sandbox/files.ts') },
      suspend: { summary: 'Suspend a sandbox', load: () => import('./sandbox/suspend.ts') },
      resume: { summary: 'Resume a sandbox', load: () => import('./sandbox/resume.ts') },
      snapshot: { summary: 'Create a snapshot of the files of a sandbox', load: () => import('./sandbox/snapshot.ts') },
      snapshots: {
        summary: 'Snapshots: list, rm',
        byDefault: 'list',
        commands: {
          list: {
            summary: 'List the snapshots',
            aliases: ['ls'],
            load: () => import('./sandbox/list-snapshots.ts'),
          },
          rm: { summary: 'Delete a snapshot', load: () => import('./sandbox/remove-snapshot.ts') },
        },
      },
      fork: { summary: 'Create a copy of a sandbox', load: () => import('./sandbox/fork.ts') },
      ports: { summary: 'List exposed ports', load: () => import('./sandbox/ports.ts') },
      expose: { summary: 'Expose a port at a URL', load: () => import('./sandbox/expose.ts') },
      unexpose: { summary: 'Remove the URL of an exposed port', load: () => import('./sandbox/unexpose.ts') },
      destroy: {
        summary: 'Delete a sandbox and its files',
        aliases: ['rm'],
        load: () => import('./sandbox/destroy.ts'),
      },
      image: { summary: 'Build the image of sandboxes on this machine', load: () => import('./sandbox/image.ts') },
    },
  },
};

const accountCommands: Readonly<Record<string, Entry>> = {
  projects: { summary: 'Projects: list, create, delete, settings', byDefault: 'list', commands: projectCommands },
  org: { summary: 'Organizations: list, create, members, storage', byDefault: 'list', commands: organizationCommands },
  plan: { summary: 'Show or set the plan of this project', load: () => import('./plan.ts') },
  tokens: {
    summary: 'Tokens for the API: list, create, revoke',
    byDefault: 'list',
    commands: {
      list: { summary: 'List your tokens', aliases: ['ls'], load: () => import('./tokens/list.ts') },
      create: { summary: 'Create a token', load: () => import('./tokens/create.ts') },
      revoke: { summary: 'Revoke a token', aliases: ['rm'], load: () => import('./tokens/revoke.ts') },
    },
  },
  api: {
    summary: 'Call the API: any path of it, or org, project, deployment, logs, db',
    otherwise: 'call',
    commands: {
      call: {
        summary: 'Call an operation, as `platform api GET /orgs`; without a path list them',
        load: () => import('./api/call.ts'),
      },
      org: { summary: 'Organizations', byDefault: 'list', commands: organizationCommands },
      project: {
        summary: 'Projects, their variables and deployments',
        byDefault: 'list',
        commands: {
          ...projectCommands,
          deploy: {
            summary: 'Build a branch or a commit: <project> <ref>',
            load: () => import('./api/project-deploy.ts'),
          },
          env: { summary: 'Variables', byDefault: 'list', commands: environmentCommands },
        },
      },
      deployment: { summary: 'Deployments', byDefault: 'list', commands: deploymentCommands },
      logs: { summary: 'The log of a project', load: () => import('./logs.ts') },
      db: {
        summary: 'Databases',
        byDefault: 'list',
        commands: { ...databaseCommands, analytics: databaseCommands['insights']! },
      },
    },
  },
};

const operatorCommands: Readonly<Record<string, Entry>> = {
  start: { summary: 'Start the platform on this machine', load: () => import('./start.ts') },
  listener: {
    summary: 'HTTP listener of this machine: show, install, remove',
    byDefault: 'show',
    commands: {
      show: {
        summary: 'Show which HTTP listener the next start opens, and why',
        load: () => import('./listener/show.ts'),
      },
      install: {
        summary: 'Install uWebSockets.js as the HTTP listener',
        load: () => import('./listener/install.ts'),
      },
      remove: {
        summary: 'Remove the installed uWebSockets.js',
        aliases: ['rm'],
        load: () => import('./listener/remove.ts'),
      },
    },
  },
  doctor: {
    summary: 'Check this machine and the platform for problems',
    load: () => import('./doctor.ts'),
  },
  backup: {
    summary: 'Back up all data of the platform on this machine',
    load: () => import('./backup.ts'),
  },
  restore: {
    summary: 'Restore a backup to the platform on this machine',
    load: () => import('./restore.ts'),
  },
  upgrade: {
    summary: 'Upgrade the data folder to another version, after a backup',
    load: () => import('./upgrade.ts'),
  },
  mail: {
    summary: 'Mail of the platform: status, test',
    byDefault: 'status',
    commands: {
      status: { summary: 'Show how emails are sent, and the last failure', load: () => import('./mail/status.ts') },
      test: { summary: 'Send a test email', load: () => import('./mail/test.ts') },
    },
  },
  machines: {
    summary: 'Machines of the installation: list, token, drain, remove',
    byDefault: 'list',
    commands: {
      list: { summary: 'List the machines', aliases: ['ls'], load: () => import('./machines/list.ts') },
      token: { summary: 'Create a token for one new machine', load: () => import('./machines/token.ts') },
      drain: { summary: 'Take a machine out of service', load: () => import('./machines/drain.ts') },
      remove: {
        summary: 'Remove a machine that is lost or drained',
        aliases: ['rm'],
        load: () => import('./machines/remove.ts'),
      },
    },
  },
  join: { summary: 'Add this machine to an installation', load: () => import('./join.ts') },
  setup: { summary: 'Set up the platform: show the steps, or apply a file', load: () => import('./setup.ts') },
  settings: {
    summary: 'Settings of the platform that need no restart: list, set, unset',
    byDefault: 'list',
    commands: {
      list: { summary: 'List the settings', aliases: ['ls'], load: () => import('./settings/list.ts') },
      set: { summary: 'Change settings', load: () => import('./settings/set.ts') },
      unset: { summary: 'Remove stored settings', aliases: ['rm'], load: () => import('./settings/unset.ts') },
    },
  },
  secrets: {
    summary: 'Secrets of an installation: init, sandbox-key',
    commands: {
      init: { summary: 'Generate missing or weak secrets in .env', load: () => import('./secrets/init.ts') },
      'sandbox-key': {
        summary: "Create the sandbox service's key at a hosted provider",
        load: () => import('./secrets/sandbox-key.ts'),
      },
    },
  },
};

/** Commands grouped by task, in the order of `platform --help`. */
export const sections: Readonly<Record<string, Readonly<Record<string, Entry>>>> = {
  'Start a project': startCommands,
  Deploy: deployCommands,
  Observe: observeCommands,
  Data: dataCommands,
  Organization: accountCommands,
  'Operate a platform': operatorCommands,
};

/** Every command by its name. */
export const commands: Readonly<Record<string, Entry>> = Object.assign({}, ...Object.values(sections));

/** The entry found for words, its name, and the remaining words. */
interface Found {
  readonly entry: Entry;
  /** The full name, for example `platform env list`. */
  readonly called: string;
  readonly rest: readonly string[];
}

/** Finds the entry that the words name, from the first word on. @returns null if the first word names none. */
export function findEntry(words: readonly string[]): Found | null {
  let entry: Entry | undefined;
  let called = 'platform';
  let rest = words;
  for (let among = commands; rest[0] !== undefined; among = (entry as Group).commands) {
    const named = nameIn(among, rest[0]);
    if (named === null) break;
    entry = among[named]!;
    called += ` ${named}`;
    rest = rest.slice(1);
    if (!('commands' in entry)) break;
  }
  return entry === undefined ? null : { entry, called, rest };
}

function nameIn(among: Readonly<Record<string, Entry>>, word: string): string | null {
  if (Object.hasOwn(among, word)) return word;
  return Object.entries(among).find(([, { aliases }]) => aliases?.includes(word))?.[0] ?? null;
}

/** Every command with its words: `['env', 'list']`. */
export function leavesOf(
  among: Readonly<Record<string, Entry>> = commands,
  path: readonly string[] = [],
): { readonly path: readonly string[]; readonly leaf: Leaf }[] {
  return Object.entries(among).flatMap(([name, entry]) =>
    'commands' in entry ? leavesOf(entry.commands, [...path, name]) : [{ path: [...path, name], leaf: entry }],
  );
}
