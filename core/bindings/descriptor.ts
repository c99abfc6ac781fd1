// The descriptor of a kind of binding, for the other folders. Each other file of this folder describes one kind, and
// kinds.ts lists them. Data only, no I/O: the types are also checked with the guest, and the pages of the dashboard
// bundle it.

/** A kind of binding. */
export interface BindingDescriptor {
  /** JSON Schema of the kind's key in platform.yaml. The parser infers its type from this schema. */
  readonly schema: object;
  /** Keys that other platforms use, for the hint about an unknown key. */
  readonly otherNames: readonly string[];
  /** Its type in `@platform-run/types`. */
  readonly type: string;
  /** Type of the binding in env.d.ts. */
  readonly label: string;
  /** Name of the kind's modules in the engine and its guest, and the first part of the names of its host calls. */
  readonly module: string;
  /**
   * The second parts of the names of its host calls, which are asynchronous. The arguments are in
   * runtime/engine/bindings/.
   */
  readonly calls: readonly string[];
  /** Methods in a worker by which code in Node recognises it: no other kind has all of them. */
  readonly methods: readonly string[];
  /**
   * Whether all methods of the kind take and return plain values, so that the mock server offers `/<kind>/<method>`.
   */
  readonly isPlain: boolean;
  /**
   * How each preview gets separate resources. `resource` is for stored data: each preview's resources have their own
   * names, and count as storage of the project. `namespace` is for events and for data that may be dropped: the names
   * stay the same, in a separate namespace.
   */
  readonly ofPreview: 'resource' | 'namespace';
  /** Whether the calls of workers are counted for each resource: rate, latency, failures. */
  readonly isMeasured: boolean;
  /** Read-only management operations. */
  readonly reads: readonly string[];
  /**
   * The kind's key in a Wrangler configuration, for `platform init`; null if there is none, or the key needs more than
   * a list of bindings.
   */
  readonly wrangler: WranglerBinding | null;
  /** Names of the kind in the API, the command line and the dashboard. */
  readonly page: BindingPage;
  /** How the control plane counts rows of the kind; null if it has none in Postgres, or another part counts them. */
  readonly storage: BindingStorage | null;
}

/** A list of bindings in a Wrangler configuration. */
export interface WranglerBinding {
  readonly key: string;
  /** Field with the name of the resource; if it is empty, the binding's name is used. */
  readonly resource: string;
  /** Fields that this platform does not need. */
  readonly notNeeded: readonly string[];
  /** Unsupported fields, with alternatives. */
  readonly unsupported: Readonly<Record<string, string>>;
}

/** Names of a kind in texts and in URLs. */
interface BindingPage {
  /** Segment of the API's and the dashboard's paths. */
  readonly path: string;
  readonly title: string;
  /** Singular, in lower case. */
  readonly one: string;
  /** Area of the dashboard; null means that the kind has a separate page. */
  readonly area: 'storage' | 'jobs' | null;
}

/** Stored rows of a kind. */
interface BindingStorage {
  /** Name of the kind in the API. */
  readonly kind: string;
  /** SQL of Postgres that selects `project`, the project's name, and `bytes`. */
  readonly sql: string;
}
