// Every bound in one place: its default, what it bounds, and its variable where an installation has a reason to choose
// another value. One schema in sections (core/limits/), and the one reader of the environment. docs/limits.md says the
// same, which a test holds together. Pure.
import { KB, MB, readBounds, type Bound, type Bounds, type Environment, type Values } from './limits/bound.ts';
import { buildBounds } from './limits/build.ts';
import { controlBounds } from './limits/control.ts';
import { databaseBounds } from './limits/database.ts';
import { deliveryBounds } from './limits/delivery.ts';
import { edgeBounds } from './limits/edge.ts';
import { engineBounds } from './limits/engine.ts';
import { gatewayBounds } from './limits/gateway.ts';
import { sandboxBounds } from './limits/sandbox.ts';
import { migratorBounds } from './limits/migrator.ts';
import { ssrBounds } from './limits/ssr.ts';
import { storageBounds } from './limits/storage.ts';
import { webBounds } from './limits/web.ts';
import { telemetryBounds } from './limits/telemetry.ts';
import { parseInteger } from './parse-integer.ts';
import { invocationKinds, plans, type InvocationKind, type Plan } from './plans.ts';

/** All sections but that of engines, whose bounds lie beside them. */
const sections = {
  build: buildBounds,
  control: controlBounds,
  database: databaseBounds,
  delivery: deliveryBounds,
  edge: edgeBounds,
  gateway: gatewayBounds,
  sandbox: sandboxBounds,
  migrator: migratorBounds,
  ssr: ssrBounds,
  storage: storageBounds,
  web: webBounds,
  telemetry: telemetryBounds,
} satisfies Readonly<Record<string, Bounds>>;

type Sections = { readonly [Name in keyof typeof sections]: Values<(typeof sections)[Name]> };

/** Bounds of the management API. */
export type ControlLimits = Sections['control'];

/** Bounds of builds from Git: the builder's process keeps to them. */
export type BuildLimits = Sections['build'];

/** Bounds of project databases: the database service and the cloud store keep to them. */
export type DatabaseLimits = Sections['database'];

/** Bounds of queues, timers, schedules and workflows: bindings and the broker keep to them. */
export type DeliveryLimits = Sections['delivery'];

/** Bounds of the edge, which gets certificates. */
export type EdgeLimits = Sections['edge'];

/** Bounds of the AI gateway. */
export type GatewayLimits = Sections['gateway'];

/** Bounds of sandboxes: the process that runs them keeps to them. */
export type SandboxLimits = Sections['sandbox'];

/** Bounds of the process that applies migrations. */
export type MigratorLimits = Sections['migrator'];

/** Bounds of server processes of ssr projects: the process that runs them keeps to them. */
export type SsrLimits = Sections['ssr'];

/** Bounds of what organizations keep: the control plane counts it. */
export type StorageLimits = Sections['storage'];

/** Bounds of the process that serves the dashboard and the documentation. */
export type WebLimits = Sections['web'];

/** Bounds of lines, invocations and traces: engines, the supervisor and the control plane keep to them. */
export type TelemetryLimits = Sections['telemetry'];

/** CPU milliseconds an invocation may use, by kind and plan; 0 means no limit. */
export type CpuLimits = Readonly<Record<InvocationKind, Readonly<Record<Plan, number>>>>;

/** Bytes, milliseconds and counts as the names say. */
export interface Limits extends Values<typeof engineBounds>, Sections {
  readonly cpu: CpuLimits;
}

const CPU: CpuLimits = {
  http: { free: 1000, pro: 5000, enterprise: 30_000 },
  queue: { free: 5000, pro: 30_000, enterprise: 60_000 },
  timer: { free: 5000, pro: 30_000, enterprise: 60_000 },
  cron: { free: 10_000, pro: 60_000, enterprise: 120_000 },
  workflow: { free: 15_000, pro: 120_000, enterprise: 300_000 },
};

/** `WORKER_CPU_LIMIT_MS_<PLAN>` for HTTP, `WORKER_CPU_LIMIT_MS_<KIND>_<PLAN>` for the others. */
export function cpuLimitVariable(kind: InvocationKind, plan: Plan): string {
  const infix = kind === 'http' ? '' : `${kind.toUpperCase()}_`;
  return `WORKER_CPU_LIMIT_MS_${infix}${plan.toUpperCase()}`;
}

/**
 * All bounds with the overrides of an environment.
 *
 * @throws {Error} naming the variable, its value and what it takes, when one is not a whole number.
 * @example limitsFrom({ WORKER_CPU_LIMIT_MS_FREE: '50' }).cpu.http.free // 50
 */
export function limitsFrom(environment: Environment): Limits {
  const cpuOf = (kind: InvocationKind, plan: Plan): number => {
    const variable = cpuLimitVariable(kind, plan);
    const text = environment[variable];
    return text === undefined || text === '' ? CPU[kind][plan] : parseInteger(variable, text);
  };
  const ofKind = (kind: InvocationKind): [InvocationKind, Readonly<Record<Plan, number>>] => [
    kind,
    Object.fromEntries(plans.map((plan) => [plan, cpuOf(kind, plan)])) as Record<Plan, number>,
  ];
  return {
    ...readBounds(engineBounds, environment),
    cpu: Object.fromEntries(invocationKinds.map(ofKind)) as unknown as CpuLimits,
    ...(Object.fromEntries(
      Object.entries(sections).map(([name, bounds]) => [name, readBounds(bounds, environment)]),
    ) as unknown as Sections),
  };
}

export const defaultLimits: Limits = limitsFrom({});

/** Of each bound but CPU: its variable (null: nothing changes it), its default, what it bounds, and its name. */
export const boundRows: readonly (readonly [variable: string | null, value: number, what: string, name: string])[] = [
  engineBounds,
  ...Object.values(sections),
].flatMap((bounds) =>
  Object.entries<Bound>(bounds).map(([name, [variable, value, what]]) => [variable, value, what, name] as const),
);

/** Of each bound that a variable changes: the variable, its default, and what it bounds. */
export const limitRows = boundRows.flatMap(([variable, value, what]) =>
  variable === null ? [] : [[variable, value, what] as const],
);

/** Every variable that changes a bound. */
export const limitVariables: readonly string[] = [
  ...limitRows.map(([variable]) => variable),
  ...invocationKinds.flatMap((kind) => plans.map((plan) => cpuLimitVariable(kind, plan))),
];

/** Bounds that nothing overrides: of formats, and of calls as the platforms have them that workers come from. */
export const fixedLimits = {
  /** platform.yaml and platform-workspace.yaml. */
  projectFileBytesMax: 64 * KB,
  /** One record of state; the values of one get together. */
  state: { keyBytesMax: 512, valueBytesMax: 25 * MB, metadataBytesMax: 1024, keysMax: 100, pageMax: 1000 },
  /** One file, and calls for several. */
  files: {
    keyBytesMax: 1024,
    metadataBytesMax: 8192,
    putBytesMax: 5 * KB * MB,
    partsMax: 10_000,
    deleteMax: 1000,
    pageMax: 1000,
  },
  /**
   * Names that workers give: dedupe ids and ordering keys of messages, ids of timers, ids, steps and event types of
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
