// All limits: default, variable, description. One schema in sections (core/limits/), and the only reader of the
// environment. A test keeps docs/limits.md in sync. Pure.
import { KB, MB, readBounds, variablesOf, type Bound, type Environment, type Values } from './limits/bound.ts';
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

/** Limits of the management API. */
export type ControlLimits = Values<typeof controlBounds>;

/** Limits of builds from Git, enforced by the builder's process. */
export type BuildLimits = Values<typeof buildBounds>;

/** Limits of project databases, enforced by the database service and the cloud store. */
export type DatabaseLimits = Values<typeof databaseBounds>;

/** Limits of queues, timers, schedules and workflows, enforced by bindings and the broker. */
export type DeliveryLimits = Values<typeof deliveryBounds>;

/** Limits of the edge, which gets certificates. */
export type EdgeLimits = Values<typeof edgeBounds>;

/** Limits of the AI gateway. */
export type GatewayLimits = Values<typeof gatewayBounds>;

/** Limits of sandboxes, enforced by the process that runs them. */
export type SandboxLimits = Values<typeof sandboxBounds>;

/** Limits of the process that applies migrations. */
export type MigratorLimits = Values<typeof migratorBounds>;

/** Limits of server processes of ssr projects, enforced by the process that runs them. */
export type SsrLimits = Values<typeof ssrBounds>;

/** Limits of organizations' storage, counted by the control plane. */
export type StorageLimits = Values<typeof storageBounds>;

/** Limits of the process that serves the dashboard and the documentation. */
export type WebLimits = Values<typeof webBounds>;

/** Limits of log lines, invocations and traces, enforced by engines, the supervisor and the control plane. */
export type TelemetryLimits = Values<typeof telemetryBounds>;

/** CPU milliseconds an invocation may use, by kind and plan; 0 means no limit. */
export type CpuLimits = Readonly<Record<InvocationKind, Readonly<Record<Plan, number>>>>;

/** Bytes, milliseconds and counts, as the names say. */
export interface Limits extends Values<typeof engineBounds> {
  readonly cpu: CpuLimits;
  readonly build: BuildLimits;
  readonly control: ControlLimits;
  readonly database: DatabaseLimits;
  readonly delivery: DeliveryLimits;
  readonly edge: EdgeLimits;
  readonly gateway: GatewayLimits;
  readonly sandbox: SandboxLimits;
  readonly migrator: MigratorLimits;
  readonly ssr: SsrLimits;
  readonly storage: StorageLimits;
  readonly web: WebLimits;
  readonly telemetry: TelemetryLimits;
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
 * All limits with the overrides of an environment.
 *
 * @throws {Error} naming the variable, its value and valid values, when one is not an integer.
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
    build: readBounds(buildBounds, environment),
    control: readBounds(controlBounds, environment),
    database: readBounds(databaseBounds, environment),
    delivery: readBounds(deliveryBounds, environment),
    edge: readBounds(edgeBounds, environment),
    gateway: readBounds(gatewayBounds, environment),
    sandbox: readBounds(sandboxBounds, environment),
    migrator: readBounds(migratorBounds, environment),
    ssr: readBounds(ssrBounds, environment),
    storage: readBounds(storageBounds, environment),
    web: readBounds(webBounds, environment),
    telemetry: readBounds(telemetryBounds, environment),
  };
}

export const defaultLimits: Limits = limitsFrom({});

/** All variables that override a limit. */
export const limitVariables: readonly string[] = [
  ...[
    engineBounds,
    buildBounds,
    controlBounds,
    databaseBounds,
    deliveryBounds,
    edgeBounds,
    gatewayBounds,
    sandboxBounds,
    migratorBounds,
    ssrBounds,
    storageBounds,
    webBounds,
    telemetryBounds,
  ].flatMap(variablesOf),
  ...invocationKinds.flatMap((kind) => plans.map((plan) => cpuLimitVariable(kind, plan))),
];

/** For each overridable limit: its variable, default and description. */
export const limitRows: readonly (readonly [variable: string, value: number, what: string])[] = [
  engineBounds,
  buildBounds,
  controlBounds,
  databaseBounds,
  deliveryBounds,
  edgeBounds,
  gatewayBounds,
  sandboxBounds,
  migratorBounds,
  ssrBounds,
  storageBounds,
  webBounds,
  telemetryBounds,
].flatMap((section) =>
  Object.values<Bound>(section).flatMap(([variable, value, what]) =>
    variable === null ? [] : [[variable, value, what] as const],
  ),
);

/** Fixed limits: of formats, and of APIs compatible with other platforms. */
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
