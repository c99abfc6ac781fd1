// The build adds the provider of the platform above.
export function register() {}
