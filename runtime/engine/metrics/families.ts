// All metrics of the platform, with name, type and meaning. exposition.ts prints only these metrics, and a test
// compares docs/operating.md with this list. Pure.

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
  platform_responses_total: { type: 'counter', help: 'Responses of workers, by status class such as 5xx' },
  platform_cpu_milliseconds_total: {
    type: 'counter',
    help: 'Thread CPU charged to invocations, by kind; `none` is CPU of entries without an invocation',
  },
  platform_wall_milliseconds: {
    type: 'histogram',
    help: 'Time from the arrival of an event to the end of its invocation, by kind',
  },
  platform_deployment_invocations_total: {
    type: 'counter',
    help: 'Invocations that have ended, by deployment, kind and outcome',
  },
  platform_deployment_responses_total: {
    type: 'counter',
    help: 'Responses of workers, by deployment and status class',
  },
  platform_deployment_cpu_milliseconds_total: {
    type: 'counter',
    help: 'Thread CPU charged to invocations, by deployment and kind',
  },
  platform_deployment_wall_milliseconds: {
    type: 'histogram',
    help: 'Wall time of invocations, by deployment and kind',
  },
  platform_requests_shed_total: {
    type: 'counter',
    help: 'Requests refused with 503 because too many were waiting or the handler was stopping',
  },
  platform_requests_restarted_total: {
    type: 'counter',
    help: 'Requests that lost their isolate before they had an effect, and were retried',
  },
  platform_requests_forwarded_total: {
    type: 'counter',
    help: 'Requests that an engine forwarded to the home engine of their deployment',
  },
  platform_requests_without_worker_total: {
    type: 'counter',
    help: 'Requests served without a worker: static files, unknown hosts, refusals',
  },
  platform_entries_total: { type: 'counter', help: 'Entries into isolates' },
  platform_entry_requests: { type: 'histogram', help: 'Requests that entered an isolate together' },
  platform_host_cpu_milliseconds_total: {
    type: 'counter',
    help: 'CPU that the host used for workers: crypto, compression, SQL, passwords',
  },
  platform_entry_cpu_milliseconds_total: {
    type: 'counter',
    help: 'Thread CPU of all entries, whether charged to an invocation or not',
  },
  platform_host_calls_total: { type: 'counter', help: 'Calls from workers to the host, by name' },
  platform_egress_bytes_total: {
    type: 'counter',
    help: 'Bytes on connections that workers opened with fetch, by direction',
  },
  platform_isolates_started_total: { type: 'counter', help: 'Isolates assigned to a deployment' },
  platform_isolates_evicted_total: { type: 'counter', help: 'Idle isolates disposed to make room' },
  platform_isolates_condemned_total: {
    type: 'counter',
    help: 'Isolates replaced after an invocation exceeded its CPU budget',
  },
  platform_isolates_lost_total: {
    type: 'counter',
    help: 'Isolates lost to their memory limit or a fault, by reason',
  },
  platform_isolates: {
    type: 'gauge',
    help: 'Isolates by engine and state: live (with a worker), blank (ready for one)',
  },
  platform_entries: {
    type: 'gauge',
    help: 'Isolates by engine and state: running (an entry), waiting (for a free slot)',
  },
  platform_lost_threads: {
    type: 'gauge',
    help: 'Threads that an engine lost to code that V8 cannot terminate, and to heap overflows inside V8',
  },
  platform_requests_in_flight: {
    type: 'gauge',
    help: 'Requests that are running or waiting, including open WebSockets',
  },
  platform_objects: { type: 'gauge', help: 'Durable objects with an instance in memory' },
  platform_object_sockets: { type: 'gauge', help: 'Open WebSockets that durable objects have accepted' },
  platform_resident_bytes: { type: 'gauge', help: 'Resident memory of a process' },
  platform_host_memory_bytes: { type: 'gauge', help: 'Memory that an engine holds for workers outside their isolates' },
  platform_host_memory_refused_total: {
    type: 'counter',
    help: 'Allocations refused because workers held too much memory outside their isolates',
  },
  platform_event_loop_lag_milliseconds: {
    type: 'gauge',
    help: 'Delay of the main thread since the last report, by engine and quantile',
  },
  platform_event_loop_utilization: {
    type: 'gauge',
    help: 'Fraction of the time since the last report in which the main thread was busy',
  },
  platform_process_cpu_seconds_total: { type: 'counter', help: 'CPU of all engine processes, user and system' },
  platform_engines: { type: 'gauge', help: 'Engine processes by state' },
  platform_engine_deaths_total: { type: 'counter', help: 'Engines that exited unexpectedly' },
  platform_requests_lost_total: {
    type: 'counter',
    help: 'Requests that are known to have been running on an engine when it died',
  },
  platform_service_up: {
    type: 'gauge',
    help: 'Whether a service process is ready: 1, else 0; on-demand services are up while they work',
  },
  platform_service_restarts_total: {
    type: 'counter',
    help: 'Restarts of a service process',
  },
  platform_service_resident_bytes: { type: 'gauge', help: 'Resident memory of a service process' },
  platform_service_cpu_seconds_total: {
    type: 'counter',
    help: 'CPU of a service process since it started, user and system',
  },
  platform_service_heap_bytes: { type: 'gauge', help: 'Heap in use by a service process' },
  platform_service_event_loop_utilization: {
    type: 'gauge',
    help: 'Fraction of the last seconds in which the main thread of a service process was busy',
  },
  platform_broker_deliveries_in_flight: { type: 'gauge', help: 'Events that a broker is delivering, by kind' },
  platform_database_shards: { type: 'gauge', help: 'Processes of the database service' },
  platform_database_replica_lag_seconds: { type: 'gauge', help: 'Age of the oldest change that no replica has yet' },
  platform_database_replica_waiting: { type: 'gauge', help: 'Databases with changes that no replica has yet' },
  platform_database_replica_bytes_total: { type: 'counter', help: 'Bytes sent to replicas of databases' },
  platform_database_replica_failing: {
    type: 'gauge',
    help: 'Whether replicas of databases cannot be written: 1, else 0',
  },
  platform_builds_running: { type: 'gauge', help: 'Builds that are running in the builder' },
  platform_routes_age_seconds: {
    type: 'gauge',
    help: 'Age of the routes of this machine, with ARTIFACTS_S3_*: below 3 while they are updated',
  },
  platform_routes_waiting: { type: 'gauge', help: 'Changed routes that are not on this machine yet' },
  platform_artifacts_waiting: {
    type: 'gauge',
    help: 'Artifacts of older deployments that are not on this machine yet',
  },
  platform_artifacts_fetched_total: { type: 'counter', help: 'Artifacts fetched from the bucket' },
  platform_artifact_fetch_failures_total: { type: 'counter', help: 'Failed fetches of artifacts from the bucket' },
  platform_artifact_cache_bytes: {
    type: 'gauge',
    help: 'Size of the artifacts on this machine, measured every ten minutes',
  },
  platform_migrations_running: { type: 'gauge', help: 'Deployments whose migrations the migrator is applying' },
  platform_api_requests_total: { type: 'counter', help: 'Requests that the API served, by status class' },
  platform_api_milliseconds_total: { type: 'counter', help: 'Total time of API requests' },
  platform_api_requests_in_flight: { type: 'gauge', help: 'API requests in flight' },
  platform_servers_running: { type: 'gauge', help: 'Running servers of ssr projects' },
  platform_servers_resident_bytes: {
    type: 'gauge',
    help: 'Memory of servers of ssr projects and their child processes, without file-backed shared memory',
  },
  platform_server_starts_total: {
    type: 'counter',
    help: 'Server starts of ssr projects, by outcome',
  },
  platform_ai_calls_total: { type: 'counter', help: 'Calls that the AI gateway served, by status class' },
  platform_ai_calls_in_flight: { type: 'gauge', help: 'AI gateway calls in flight' },
  platform_ai_tokens_total: { type: 'counter', help: 'Tokens used by AI gateway calls, by kind' },
  platform_web_requests_total: { type: 'counter', help: 'Requests that the web process served, by site' },
  platform_telemetry_records_total: {
    type: 'counter',
    help: 'Lines, invocations and spans that the API process stored, and those lost before they were stored',
  },
  platform_spans_exported_total: {
    type: 'counter',
    help: "Spans for the operator's and the projects' collectors, sent or dropped",
  },
  platform_postgres_connections: { type: 'gauge', help: 'Connections to Postgres, by program and state' },
  platform_postgres_connections_max: { type: 'gauge', help: 'Maximum number of connections to Postgres' },
  platform_postgres_bytes: { type: 'gauge', help: "Size of the platform's database" },
  platform_postgres_blocks_read_total: {
    type: 'counter',
    help: 'Blocks that Postgres read from its cache or the disk',
  },
  platform_events_waiting: {
    type: 'gauge',
    help: 'Messages, timers, schedules and runs that are due or leased by a broker, by kind',
  },
  platform_events_delay_seconds: { type: 'gauge', help: 'Age of the oldest due event, by kind' },
  platform_jobs: { type: 'gauge', help: 'Builds and releases that are waiting or running' },
  platform_edge_up: { type: 'gauge', help: 'Whether Caddy is running: 1, else 0' },
  platform_quarantined_deployments: { type: 'gauge', help: 'Deployments in quarantine' },
  platform_deliveries_total: { type: 'counter', help: 'Events sent to the private port, by kind and HTTP status' },
  platform_backup_good_timestamp_seconds: { type: 'gauge', help: 'When the last successful backup finished; 0: never' },
  platform_backup_failed: { type: 'gauge', help: 'Whether the last backup failed or was interrupted: 1, else 0' },
  platform_routes: { type: 'gauge', help: 'Deployments that a host routes to' },
} as const satisfies Record<string, Family>;

/** A name of {@link families}. */
export type FamilyName = keyof typeof families;

/** Upper limits of the wall-time buckets, in ms; the last bucket has no upper limit. */
export const WALL_BOUNDS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 60_000] as const;
/** Upper limits of the buckets for requests that enter together. */
export const JOIN_BOUNDS = [1, 2, 4, 8, 16, 32, 64, 128] as const;
