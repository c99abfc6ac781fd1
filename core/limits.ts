// All limits: default, description, and a variable if an installation has a reason to choose another value. One schema
// in sections (core/limits/). No other code reads limits from the environment. A test keeps docs/limits.md in sync.
// Pure.
import {
  KB,
  MB,
  readLimits,
  type LimitDefinition,
  type LimitDefinitions,
  type Environment,
  type Values,
} from './limits/definition.ts';
import { artifactLimits } from './limits/artifacts.ts';
import { buildLimits } from './limits/build.ts';
import { controlLimits } from './limits/control.ts';
import { databaseLimits } from './limits/database.ts';
import { deliveryLimits } from './limits/delivery.ts';
import { edgeLimits } from './limits/edge.ts';
import { engineLimits } from './limits/engine.ts';
import { gatewayLimits } from './limits/gateway.ts';
import { machineLimits } from './limits/machine.ts';
import { sandboxLimits } from './limits/sandbox.ts';
import { migratorLimits } from './limits/migrator.ts';
import { ssrLimits } from './limits/ssr.ts';
import { storageLimits } from './limits/storage.ts';
import { webLimits } from './limits/web.ts';
import { telemetryLimits } from './limits/telemetry.ts';
import { parseInteger } from './parse-integer.ts';
import { budgetKinds, plans, type BudgetKind, type Plan } from './plans.ts';

/** All sections except the limits of engines, which {@link Limits} has at its top level. */
const sections = {
  artifacts: artifactLimits,
  build: buildLimits,
  control: controlLimits,
  database: databaseLimits,
  delivery: deliveryLimits,
  edge: edgeLimits,
  gateway: gatewayLimits,
  machine: machineLimits,
  sandbox: sandboxLimits,
  migrator: migratorLimits,
  ssr: ssrLimits,
  storage: storageLimits,
  web: webLimits,
  telemetry: telemetryLimits,
} satisfies Readonly<Record<string, LimitDefinitions>>;

type Sections = { readonly [Name in keyof typeof sections]: Values<(typeof sections)[Name]> };

/** Limits of the management API. */
export type ControlLimits = Sections['control'];

/** Limits of builds from Git, enforced by the builder's process. */
export type BuildLimits = Sections['build'];

/** Limits of project databases, enforced by the database service and the cloud store. */
export type DatabaseLimits = Sections['database'];

/** Limits of queues, timers, schedules and workflows, enforced by bindings and the broker. */
export type DeliveryLimits = Sections['delivery'];

/** Limits of the edge, which gets certificates. */
export type EdgeLimits = Sections['edge'];

/** Limits of the AI gateway. */
export type GatewayLimits = Sections['gateway'];

/** Limits of sandboxes, enforced by the process that runs them. */
export type SandboxLimits = Sections['sandbox'];

/** Limits of the process that applies migrations. */
export type MigratorLimits = Sections['migrator'];

/** Limits of server processes of ssr projects, enforced by the process that runs them. */
export type SsrLimits = Sections['ssr'];

/** Limits of organizations' storage, counted by the control plane. */
export type StorageLimits = Sections['storage'];

/** Limits of the process that serves the dashboard and the documentation. */
export type WebLimits = Sections['web'];

/** Limits of log lines, invocations and traces, enforced by engines, the supervisor and the control plane. */
export type TelemetryLimits = Sections['telemetry'];

/** CPU milliseconds that an invocation may use, by kind and plan; 0 means no limit. */
export type CpuLimits = Readonly<Record<BudgetKind, Readonly<Record<Plan, number>>>>;

/** Bytes, milliseconds and counts, as the names say. */
export interface Limits extends Values<typeof engineLimits>, Sections {
  readonly cpu: CpuLimits;
}

const CPU: CpuLimits = {
  http: { free: 1000, pro: 5000, enterprise: 30_000 },
  queue: { free: 5000, pro: 30_000, enterprise: 60_000 },
  timer: { free: 5000, pro: 30_000, enterprise: 60_000 },
  cron: { free: 10_000, pro: 60_000, enterprise: 120_000 },
  workflow: { free: 15_000, pro: 120_000, enterprise: 300_000 },
};

/** `WORKER_CPU_LIMIT_MS_<PLAN>` for HTTP and durable objects, `WORKER_CPU_LIMIT_MS_<KIND>_<PLAN>` for the others. */
export function cpuLimitVariable(kind: BudgetKind, plan: Plan): string {
  const infix = kind === 'http' ? '' : `${kind.toUpperCase()}_`;
  return `WORKER_CPU_LIMIT_MS_${infix}${plan.toUpperCase()}`;
}

/**
 * All limits with the overrides of an environment.
 *
 * @throws {Error} that names the variable, its value and valid values, if a value is not an integer.
 * @example limitsFrom({ WORKER_CPU_LIMIT_MS_FREE: '50' }).cpu.http.free // 50
 */
export function limitsFrom(environment: Environment): Limits {
  const cpuOf = (kind: BudgetKind, plan: Plan): number => {
    const variable = cpuLimitVariable(kind, plan);
    const text = environment[variable];
    return text === undefined || text === '' ? CPU[kind][plan] : parseInteger(variable, text);
  };
  const ofKind = (kind: BudgetKind): [BudgetKind, Readonly<Record<Plan, number>>] => [
    kind,
    Object.fromEntries(plans.map((plan) => [plan, cpuOf(kind, plan)])) as Record<Plan, number>,
  ];
  return {
    ...readLimits(engineLimits, environment),
    cpu: Object.fromEntries(budgetKinds.map(ofKind)) as unknown as CpuLimits,
    ...(Object.fromEntries(
      Object.entries(sections).map(([name, section]) => [name, readLimits(section, environment)]),
    ) as unknown as Sections),
  };
}

export const defaultLimits: Limits = limitsFrom({});

/** One row for each limit except CPU: its variable (null if it cannot be overridden), default, description and name. */
export const definedLimits: readonly (readonly [variable: string | null, value: number, what: string, name: string])[] =
  [engineLimits, ...Object.values(sections)].flatMap((section) =>
    Object.entries<LimitDefinition>(section).map(
      ([name, [variable, value, what]]) => [variable, value, what, name] as const,
    ),
  );

/** One row for each limit that can be overridden: its variable, default and description. */
export const limitRows = definedLimits.flatMap(([variable, value, what]) =>
  variable === null ? [] : [[variable, value, what] as const],
);

/** All variables that override a limit. */
export const limitVariables: readonly string[] = [
  ...limitRows.map(([variable]) => variable),
  ...budgetKinds.flatMap((kind) => plans.map((plan) => cpuLimitVariable(kind, plan))),
];

/** Fixed limits of formats, and of APIs that are compatible with other platforms. */
export const fixedLimits = {
  /** platform.yaml and platform-workspace.yaml. */
  projectFileBytesMax: 64 * KB,
  /** Limits of a record of state, and of one `get` with several keys. */
  state: { keyBytesMax: 512, valueBytesMax: 25 * MB, metadataBytesMax: 1024, keysMax: 100, pageMax: 1000 },
  /** Limits of a file, and of calls with several files. */
  files: {
    keyBytesMax: 1024,
    metadataBytesMax: 8192,
    putBytesMax: 5 * KB * MB,
    partsMax: 10_000,
    deleteMax: 1000,
    pageMax: 1000,
  },
  /**
   * Names chosen by workers: dedupe ids and ordering keys of messages, ids of timers, ids, steps and event types of
   * runs.
   */
  events: {
    messageNameBytesMax: 128,
    timerIdBytesMax: 512,
    runIdBytesMax: 256,
    stepNameBytesMax: 256,
    eventTypeBytesMax: 128,
    pageMax: 1000,
  },
} as const;
