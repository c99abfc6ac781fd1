export const load = () => ({
  later: new Promise((resolve) => setTimeout(() => resolve('second part'), 500)),
});
