/** A small map, as the server answers it. */

import type { Map as NodeMap } from "../src/wire.ts";

export const MAP: NodeMap = {
  version: "v",
  moment: "2026-03-01T12:00:00Z",
  trouble: "",
  topologyKey: "rack",
  topologyKeys: [{ key: "rack", podGroups: 1 }],
  resource: "gpu",
  resources: ["gpu", "cpu"],
  blocks: ["r1", null],
  nodes: {
    name: ["n1", "n2", "n3"],
    block: [0, 0, 1],
    allocatable: [8, 8, 0],
    used: [6, 4, 0],
    leaving: [2, 0, 0],
    promised: [4, 0, 0],
    free: [0, 2, 0],
    anonymous: [0, 2, 0],
  },
  gangs: { namespace: ["a", "a", "b"], name: ["old", "train", "old"], key: ["old", "train", "old"] },
  parts: { node: [0, 0, 1, 1], gang: [-1, 0, 0, 2], pods: [1, 2, 1, 1], used: [2, 4, 1, 3], leaving: [0, 2, 0, 0] },
  plans: [
    {
      kind: "PodGroup",
      namespace: "a",
      name: "train",
      uid: "u",
      priority: 7,
      gang: 1,
      promised: { node: [0], gang: [1], pods: [2], amount: [4] },
      victims: { node: [0, 1], gang: [0, 2], pods: [2, 1], amount: [3, 3] },
    },
  ],
  missing: [],
  unread: "",
};
