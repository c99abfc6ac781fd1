// What the builder reads of a parsed platform.yaml. Types only; core/project-config.ts is what fills it in.

/** A binding map: binding name -> resource name. */
type BindingMap = Readonly<Record<string, string>>;

/** The fields of platform.yaml (spec 2.1) that an artifact depends on. */
export interface BuildConfig {
  readonly kind?: 'static' | 'ssr' | 'dynamic' | undefined;
  readonly main?: string | undefined;
  readonly build?: string | undefined;
  readonly out?: string | undefined;
  readonly assets?:
    | {
        readonly binding?: string | undefined;
        readonly not_found_handling?: 'none' | '404-page' | 'single-page-application' | undefined;
        readonly run_worker_first?: boolean | readonly string[] | undefined;
      }
    | undefined;
  readonly compatibility_date?: string | undefined;
  readonly compatibility_flags?: readonly string[] | undefined;
  readonly db?: BindingMap | undefined;
  readonly queue?: BindingMap | undefined;
  readonly workflow?: BindingMap | undefined;
  readonly state?: BindingMap | undefined;
  readonly fs?: BindingMap | undefined;
  readonly timer?: BindingMap | undefined;
  readonly cache?: BindingMap | undefined;
  readonly sandbox?: BindingMap | undefined;
  readonly cron?: Readonly<Record<string, { readonly schedule: string; readonly timezone?: string | undefined }>> | undefined;
  readonly ai?: boolean | undefined;
  readonly skew_protection?: boolean | undefined;
}

/** The kinds of binding that an artifact's manifest lists. */
export const bindingKinds = ['cache', 'db', 'fs', 'queue', 'sandbox', 'state', 'timer', 'workflow'] as const;

/** Whether Node's modules are served: on, unless a flag switches it off. */
export function hasNodeCompat(config: BuildConfig): boolean {
  return config.compatibility_flags?.includes('no_nodejs_compat') !== true;
}
