/** What of Nitro's options says which headers files have. */
export interface RuleOptions {
  readonly baseURL: string;
  readonly routeRules: Readonly<
    Record<string, { readonly headers?: Readonly<Record<string, string>>; readonly [rule: string]: unknown }>
  >;
  readonly output: { readonly publicDir: string };
}
export function writeRules(options: RuleOptions): Promise<void>;
export function headersOf(baseURL: string, routeRules: RuleOptions['routeRules']): string;
