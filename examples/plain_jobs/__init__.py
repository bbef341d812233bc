"""Plain Spark jobs as people write them, for `holdfast audit`: not all of them are safe."""
