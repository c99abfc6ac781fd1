// `process.env` of workers: the variables of the deployment. It joins what @types/node says, where a project has that.
declare global {
  namespace NodeJS {
    interface ProcessEnv {
      [name: string]: string | undefined;
    }
    interface Process {
      env: ProcessEnv;
    }
  }
  var process: NodeJS.Process;
}

export {};
