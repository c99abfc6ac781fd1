// All metrics of the platform: name, type, meaning. exposition.ts prints only those listed here, and a test compares
// docs/operating.md with it. Pure.

/** Type of a family in Prometheus. */
type FamilyType = 'counter' | 'gauge' | 'histogram';

/** One row of {@link families}. */
export interface Family {
  readonly type: FamilyType;
  readonly help: string;
}

/** The families by name, in the order in which they are printed. */
export const families = {
  platform_invocations_total: { type: 'counter', help: 'Invocations that have ended, by kind and outcome' },
  platform_cpu_milliseconds_total: {
    type: 'counter',
    help: 'Thread CPU charged to invocations by kind; none: entries in which no invocation ran',
  },
  platform_wall_milliseconds: {
    type: 'histogram',
    help: 'Time from the arrival of an event to the end of its invocation, by kind',
  },
  platform_deployment_invocations_total: {
    type: 'counter',
    help: 'Invocations that have ended, by deployment, kind and outcome',
  },
  platform_deployment_cpu_milliseconds_total: {
    type: 'counter',
    help: 'Thread CPU charged to invocations, by deployment and kind',
  },
  platform_deployment_wall_milliseconds: { type: 'histogram', help: 'Wall time of invocations by deployment and kind' },
  platform_requests_shed_total: {
    type: 'counter',
    help: 'Requests refused with 503 because too many waited, or the handler was stopping',
  },
  platform_requests_restarted_total: {
    type: 'counter',
    help: 'Requests that lost their isolate before they had an effect and ran again',
  },
  platform_requests_forwarded_total: {
    type: 'counter',
    help: 'Requests that an engine handed to the home of their deployment',
  },
  platform_requests_without_worker_total: {
    type: 'counter',
    help: 'Requests answered without a worker: static files, hosts without a route, refusals',
  },
  platform_entries_total: { type: 'counter', help: 'Entries into isolates' },
  platform_entry_requests: { type: 'histogram', help: 'Requests that entered an isolate together' },
  platform_host_cpu_milliseconds_total: {
    type: 'counter',
    help: 'CPU that the host spent for workers: crypto, compression, SQL, passwords',
  },
  platform_entry_cpu_milliseconds_total: {
    type: 'counter',
    help: 'Thread CPU of all entries, charged to an invocation or not',
  },
  platform_host_calls_total: { type: 'counter', help: 'Calls that workers made to the host, by name' },
  platform_egress_bytes_total: {
    type: 'counter',
    help: 'Bytes on connections that workers opened with fetch, by direction',
  },
  platform_isolates_started_total: { type: 'counter', help: 'Isolates given to a deployment' },
  platform_isolates_evicted_total: { type: 'counter', help: 'Idle isolates sent away to make room' },
  platform_isolates_condemned_total: {
    type: 'counter',
    help: 'Isolates replaced after an invocation broke its CPU budget',
  },
  platform_isolates_lost_total: {
    type: 'counter',
    help: 'Isolates that ended by their memory limit or a fault, by reason',
  },
  platform_isolates: {
    type: 'gauge',
    help: 'Isolates by engine and state: live (with a worker), blank (ready for one)',
  },
  platform_entries: {
    type: 'gauge',
    help: 'Isolates by engine and state: running (an entry is under way), waiting (for a place)',
  },
  platform_lost_threads: {
    type: 'gauge',
    help: 'Threads an engine has lost to code that V8 cannot end, and to heap overflows inside V8',
  },
  platform_requests_in_flight: { type: 'gauge', help: 'Requests that run or wait, open WebSockets included' },
  platform_resident_bytes: { type: 'gauge', help: 'Resident memory of a process' },
  platform_host_memory_bytes: { type: 'gauge', help: 'What an engine holds for workers outside of their isolates' },
  platform_host_memory_refused_total: {
    type: 'counter',
    help: 'What workers asked for and did not get, since they held too much outside of their isolates',
  },
  platform_event_loop_lag_milliseconds: {
    type: 'gauge',
    help: 'Delay of the main thread since the last report, by engine and quantile',
  },
  platform_event_loop_utilization: {
    type: 'gauge',
    help: 'Share of the time since the last report in which the main thread was busy',
  },
  platform_process_cpu_seconds_total: { type: 'counter', help: 'CPU of all engine processes, user and system' },
  platform_engines: { type: 'gauge', help: 'Engine processes by state' },
  platform_engine_deaths_total: { type: 'counter', help: 'Engines that died without having been asked to' },
  platform_requests_lost_total: {
    type: 'counter',
    help: 'Requests that were running on an engine when it died, as far as known',
  },
  platform_service_up: {
    type: 'gauge',
    help: 'Whether a process beside the engines is ready: 1, else 0; those on demand are up while they work',
  },
  platform_service_restarts_total: {
    type: 'counter',
    help: 'How often a process beside the engines was started again',
  },
  platform_service_resident_bytes: { type: 'gauge', help: 'Resident memory of a process beside the engines' },
  platform_service_cpu_seconds_total: {
    type: 'counter',
    help: 'CPU of a process beside the engines since it started, user and system',
  },
  platform_service_heap_bytes: { type: 'gauge', help: 'Heap in use of a process beside the engines' },
  platform_service_event_loop_utilization: {
    type: 'gauge',
    help: 'Share of the last seconds in which the main thread of a process beside the engines was busy',
  },
  platform_broker_deliveries_in_flight: { type: 'gauge', help: 'Events that a broker is delivering, by kind' },
  platform_database_shards: { type: 'gauge', help: 'Processes of the database service' },
  platform_builds_running: { type: 'gauge', help: 'Builds that run in the builder' },
  platform_migrations_running: { type: 'gauge', help: 'Deployments whose migrations the migrator applies' },
  platform_api_requests_total: { type: 'counter', help: 'Requests that the API has answered, by class of status' },
  platform_api_milliseconds_total: { type: 'counter', help: 'Time that the requests of the API took, added up' },
  platform_api_requests_in_flight: { type: 'gauge', help: 'Requests of the API that are under way' },
  platform_servers_running: { type: 'gauge', help: 'Servers of ssr projects that run' },
  platform_servers_resident_bytes: {
    type: 'gauge',
    help: 'Memory of servers of ssr projects and of what they started, without what is shared with files',
  },
  platform_server_starts_total: {
    type: 'counter',
    help: 'Servers of ssr projects that were started, by how that went',
  },
  platform_ai_calls_total: { type: 'counter', help: 'Calls that the AI gateway has answered, by class of status' },
  platform_ai_calls_in_flight: { type: 'gauge', help: 'Calls of the AI gateway that are under way' },
  platform_ai_tokens_total: { type: 'counter', help: 'Tokens that calls of the AI gateway have used, by kind' },
  platform_web_requests_total: { type: 'counter', help: 'Requests that the web process has answered, by site' },
  platform_telemetry_records_total: {
    type: 'counter',
    help: 'Lines, invocations and spans that the API process has kept, and those lost before it took them',
  },
  platform_spans_exported_total: {
    type: 'counter',
    help: "Spans for the operator's collector and those of projects: sent or dropped",
  },
  platform_postgres_connections: { type: 'gauge', help: 'Connections to Postgres, by program and state' },
  platform_postgres_connections_max: { type: 'gauge', help: 'Connections that Postgres allows' },
  platform_postgres_bytes: { type: 'gauge', help: "Size of the platform's database" },
  platform_postgres_blocks_read_total: {
    type: 'counter',
    help: 'Blocks that Postgres read, from its cache or the disk',
  },
  platform_events_waiting: {
    type: 'gauge',
    help: 'Messages, timers, schedules and runs that are due, or leased by a broker, by kind',
  },
  platform_events_delay_seconds: { type: 'gauge', help: 'For how long the oldest due event has waited, by kind' },
  platform_jobs: { type: 'gauge', help: 'Builds and releases that wait or run' },
  platform_edge_up: { type: 'gauge', help: 'Whether Caddy runs behind the edge: 1, else 0' },
  platform_quarantined_deployments: { type: 'gauge', help: 'Deployments served by an engine of their own' },
  platform_deliveries_total: { type: 'counter', help: 'Events given to the private port, by kind and HTTP status' },
  platform_backup_good_timestamp_seconds: { type: 'gauge', help: 'When the last backup that was made ended; 0: never' },
  platform_backup_failed: { type: 'gauge', help: 'Whether the last backup failed or was cut off: 1, else 0' },
  platform_routes: { type: 'gauge', help: 'Deployments that a host leads to' },
} as const satisfies Record<string, Family>;

/** A name of {@link families}. */
export type FamilyName = keyof typeof families;

/** Upper bounds of the wall-time buckets, in ms; the last bucket has none. */
export const WALL_BOUNDS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 60_000] as const;
/** Upper limits of the buckets for requests that enter together. */
export const JOIN_BOUNDS = [1, 2, 4, 8, 16, 32, 64, 128] as const;
